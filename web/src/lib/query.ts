/** What the list can be asked for; the rest of the types comes from the server as it is. */

import type { paths } from "./types";

type Asked = NonNullable<paths["/api/list"]["get"]["parameters"]["query"]>;
export type Filter = NonNullable<Asked["filter"]>;
export type Sort = NonNullable<Asked["sort"]>;
export const SIGNS = ["is", "without", "is-not", "suggested"] as const;
export type Sign = (typeof SIGNS)[number];

/** What an item must have to be listed, or must not. */
export interface Condition {
  tag: number;
  sign: Sign;
}
export type Query = Omit<Asked, "tag"> & { conditions?: Condition[] };

export const writtenCondition = ({ tag, sign }: Condition): string => `${tag}:${sign}`;

/** Such as "12:is-not"; null where it is none. */
export function readCondition(text: string): Condition | null {
  const [number = "", name = "is"] = text.split(":", 2);
  const sign = SIGNS.find((known) => known === name);
  return sign && /^\d{1,9}$/.test(number) ? { tag: Number(number), sign } : null;
}
