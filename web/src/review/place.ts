/** Order and choice of items of the review, as one value in the address, so that a reload asks the same. */

import { FILTERS } from "../lib/address";
import type { Filter } from "../lib/query";
import type { ReviewQuery } from "../lib/types";

export type Order = NonNullable<ReviewQuery["order"]>;
export interface ReviewPlace {
  order: Order;
  filter: Filter;
  tag: number | null;
}

const ORDERS: readonly Order[] = ["surest", "useful", "doubtful", "disputed"];
const EVERYTHING = "surest.all.";

export const writtenPlace = ({ order, filter, tag }: ReviewPlace): string => {
  const place = `${order}.${filter}.${tag ?? ""}`;
  return place === EVERYTHING ? "" : place;
};

/** What cannot be read counts as everything. */
export function readPlace(place: string): ReviewPlace {
  const [order, filter, tag] = place.split(".");
  return {
    order: ORDERS.find((one) => one === order) ?? "surest",
    filter: FILTERS.find((one) => one === filter) ?? "all",
    tag: tag && /^\d{1,9}$/.test(tag) ? Number(tag) : null,
  };
}
