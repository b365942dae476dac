/** Details of items, kept for a short while, so that the next item is there before it is opened. */

import * as api from "../lib/api";
import type { Detail } from "../lib/types";

const MOST = 40;
const kept = new Map<number, Promise<Detail>>();

export function detailOf(row: number): Promise<Detail> {
  const known = kept.get(row);
  if (known) return known;
  const asked = api.item(row);
  kept.set(row, asked);
  // a failure is not worth keeping: the next one who asks may have more luck
  asked.catch(() => kept.get(row) === asked && kept.delete(row));
  if (kept.size > MOST) kept.delete(kept.keys().next().value!);
  return asked;
}

/** Something was said or learnt, and everything may be another by now. */
export const forgetDetails = (): void => kept.clear();
