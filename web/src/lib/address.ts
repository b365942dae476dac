/** What the part of the address after "#" holds, so that reload, back and a shared link show the same. */

import { type Filter, type Query, readCondition, type Sort, writtenCondition } from "./query";
import type { View } from "./studio.svelte";

export interface Place {
  view: View;
  /** the open item */
  item: number | null;
  /** the open tag of the view of tags */
  tag: number | null;
  query: Query;
  /** what the review asks about; empty: everything */
  review?: string;
}

export const VIEWS: readonly View[] = ["review", "items", "map", "tags", "progress"];
export const FILTERS: readonly Filter[] = ["all", "untagged", "tagged", "doubtful", "changed", "next", "flagged", "disputed"];
const SORTS: readonly Sort[] = ["found", "name", "score", "changed", "tags"];

const whole = (text: string | null | undefined): number | null =>
  text && /^\d{1,9}$/.test(text) ? Number(text) : null;

export function read(hash: string): Place {
  const [path = "", asked = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name, part] = path.split("/");
  const view = VIEWS.find((known) => known === name) ?? "items";
  const values = new URLSearchParams(asked);
  const query: Query = {};
  const text = values.get("text");
  if (text) query.text = text;
  const filter = FILTERS.find((known) => known === values.get("filter"));
  if (filter && filter !== "all") query.filter = filter;
  const conditions = values.getAll("tag").flatMap((one) => readCondition(one) ?? []);
  if (conditions.length) query.conditions = conditions;
  const sort = SORTS.find((known) => known === values.get("sort"));
  if (sort && sort !== "found") query.sort = sort;
  if (values.has("backwards")) query.backwards = true;
  return {
    view,
    item: view === "tags" ? whole(values.get("item")) : whole(part ?? values.get("item")),
    tag: view === "tags" ? whole(part) : null,
    query,
    ...(values.get("review") ? { review: values.get("review")! } : {}),
  };
}

export function written(place: Place): string {
  const values = new URLSearchParams();
  const part = place.view === "tags" ? place.tag : place.item;
  if (place.view === "tags" && place.item !== null) values.set("item", `${place.item}`);
  const { text, filter, conditions, sort, backwards } = place.query;
  if (text) values.set("text", text);
  if (filter && filter !== "all") values.set("filter", filter);
  for (const one of conditions ?? []) values.append("tag", writtenCondition(one));
  if (sort && sort !== "found") values.set("sort", sort);
  if (backwards) values.set("backwards", "");
  if (place.review) values.set("review", place.review);
  const asked = values.toString();
  return `#/${place.view}${part === null ? "" : `/${part}`}${asked ? `?${asked}` : ""}`;
}
