/** Details of items, kept for a short while, so that the next item is there before it is opened. */

import * as api from "../lib/api";
import type { ItemDetails } from "../lib/types";

const MOST = 40;
const kept = new Map<number, Promise<ItemDetails>>();
const latest = new Map<number, ItemDetails>();

export function itemDetails(row: number): Promise<ItemDetails> {
  const known = kept.get(row);
  if (known) return known;
  const asked = api.item(row);
  kept.set(row, asked);
  asked.then(
    (found) => {
      latest.set(row, found);
      if (latest.size > MOST) latest.delete(latest.keys().next().value!);
    },
    () => undefined,
  );
  // a failure is not kept: the next request may succeed
  asked.catch(() => kept.get(row) === asked && kept.delete(row));
  if (kept.size > MOST) kept.delete(kept.keys().next().value!);
  return asked;
}

/** Annotations or predictions changed: all details may be out of date. */
export const forgetDetails = (): void => kept.clear();
/** What was known of an item last, though it may be out of date: something to show until the answer is there. */
export const lastDetails = (row: number): ItemDetails | undefined => latest.get(row);
