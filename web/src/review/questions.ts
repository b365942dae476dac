/** Which question comes next. Pure, so that it can be tested without a page. */

import type { ReviewQuestion } from "../lib/types";

export const keyOf = ({ row, tag }: { row: number; tag: number }): string => `${row} ${tag}`;

/** What is still to be asked: without what was decided or put off, and each question once. */
export function remaining(
  known: readonly ReviewQuestion[],
  latest: readonly ReviewQuestion[],
  done: ReadonlySet<string>,
): ReviewQuestion[] {
  const found = new Map<string, ReviewQuestion>();
  for (const question of known) if (!done.has(keyOf(question))) found.set(keyOf(question), question);
  for (const question of latest) if (!done.has(keyOf(question))) found.set(keyOf(question), question);
  return [...found.values()];
}

/** How many are decided a minute, once there are a few; null before. */
export function rate(times: readonly number[]): number | null {
  if (times.length < 5) return null;
  const minutes = (times.at(-1)! - times[0]!) / 60_000;
  return minutes > 0 ? Math.round((times.length - 1) / minutes) : null;
}
