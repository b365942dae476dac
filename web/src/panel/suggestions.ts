/** Which suggestions a panel shows, and in which order: nothing moves while the item is open. */

import type { Detail, Row } from "../lib/types";

export interface Shown {
  tag: number;
  score: number;
  share: number;
  because: Record<string, number> | null;
}

/** Most that are shown: one a digit key. */
const MOST = 9;

/**
 * Suggestions after news. Those already shown keep their places, decided or not, so that the key that was aimed
 * at one never hits another; what is new goes to the end. When all are decided, the next ones come.
 */
export function merged(shown: readonly Shown[], row: Row | undefined, detail: Detail | null): Shown[] {
  const news = new Map<number, Shown>();
  for (const one of row?.suggested ?? []) news.set(one.tag, { ...one, because: null });
  for (const one of detail?.reasons ?? []) news.set(one.tag, one);
  const stated = new Set((row ?? detail)?.stated.map((word) => word.tag) ?? []);
  const open = shown.some((old) => !stated.has(old.tag));
  const kept = (open ? shown : []).map((old) => {
    const now = news.get(old.tag);
    return now ? { ...now, because: now.because ?? old.because } : old;
  });
  const there = new Set(kept.map((old) => old.tag));
  const added = [...news.values()]
    .filter((one) => !there.has(one.tag) && !stated.has(one.tag))
    .toSorted((a, b) => b.score - a.score);
  return [...kept, ...added.slice(0, Math.max(0, MOST - kept.length))];
}
