/** Which suggestions a panel shows, and in which order: nothing moves while the item is open. */

import type { ExplainedTag, ItemDetails, ItemRow } from "../lib/types";

export interface Shown {
  tag: number;
  /** null while too little is known for percentages */
  score: number | null;
  strength: number;
  /** null until the details of the item are there */
  why: ExplainedTag | null;
  /** an update does not suggest it any more; it keeps its place without a number */
  dropped?: boolean;
}

/** Why an item has no suggestions, in a sentence; `used` are the tags that some item has. */
export function whyNone(item: ItemRow, used: readonly number[]): string {
  const open = used.filter((tag) => !item.annotations.some((one) => one.tag === tag));
  const only = used.length === 1;
  if (!open.length) return `No suggestions: ${only ? "the only tag so far is" : "all tags are"} decided here.`;
  const which = only ? "the only tag so far is not" : `no ${open.length < used.length ? "other " : ""}tag is`;
  return `No suggestions: ${which} more likely here than on an average item.`;
}

/** Open ones that are shown: one a digit key, and any that are more likely than one of these. */
const MOST = 9;

/**
 * Suggestions after an update. Those already shown keep their places, decided or not, so that the key that was aimed
 * at one never hits another; what is new goes to the end. One that is not suggested any more keeps its place without a
 * number, and another comes for it, as for each that is decided. When all are decided, the next ones come. Tags that
 * are no longer there go.
 */
export function merged(
  former: readonly Shown[],
  row: ItemRow | undefined,
  detail: ItemDetails | null,
  isGone: (tag: number) => boolean = () => false,
): Shown[] {
  const shown = former.filter(({ tag }) => !isGone(tag));
  const latest = new Map<number, Shown>();
  for (const one of row?.suggestions ?? []) latest.set(one.tag, { ...one, why: null });
  for (const one of detail?.explained ?? []) latest.set(one.tag, { ...one, why: one });
  const annotated = new Set((row ?? detail)?.annotations.map(({ tag }) => tag) ?? []);
  const open = shown.some((old) => !annotated.has(old.tag));
  const kept = (open ? shown : []).map((old) => {
    const now = latest.get(old.tag);
    if (now) return { ...now, why: now.why ?? old.why };
    const isDropped = detail !== null && !annotated.has(old.tag);
    return isDropped ? { ...old, score: null, strength: 0, why: null, dropped: true } : old;
  });
  const there = new Set(kept.map((old) => old.tag));
  const added = [...latest.values()]
    .filter((one) => !there.has(one.tag) && !annotated.has(one.tag))
    .toSorted((a, b) => b.strength - a.strength);
  const current = kept.filter((one) => !one.dropped && !annotated.has(one.tag));
  const least = Math.min(...current.map((one) => one.strength));
  const room = MOST - current.length;
  return [...kept, ...added.filter((one, place) => place < room || one.strength > least)];
}
