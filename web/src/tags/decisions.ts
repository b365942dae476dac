/** Going through rows one by one: which come next, and what was decided on them. */

import type { Row } from "../lib/types";

export type Decision = -1 | 0 | 1;

/** What is said on a tag of this row now. */
export const saidOn = (row: Row, tag: number): Decision => row.stated.find((word) => word.tag === tag)?.value ?? 0;

/** The next place after `from` that is still open, or the first one; `from` itself where none is. */
export function nextOpen(open: readonly boolean[], from: number): number {
  for (let step = 1; step <= open.length; step++) {
    const place = (from + step) % open.length;
    if (open[place]) return place;
  }
  return from;
}
