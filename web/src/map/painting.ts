/** The colour of every point, and which are drawn above which. */

import { along, CATEGORIES, categoryColours, type Colour, othersColour, parse, scaleColours } from "../charts/palette";

/** What the server sends where nothing is known of an item. */
export const UNKNOWN = 65535;

export interface Paint {
  /** red, green, blue, opacity of each item */
  colours: Uint8Array;
  /** items that are drawn, the uppermost last */
  order: Uint32Array;
}

export interface Entry {
  tag: number;
  /** its place in the palette */
  slot: number;
  count: number;
}

export interface Legend {
  entries: Entry[];
  /** items whose top tag has no colour of its own, and items of which nothing is known */
  others: number;
  unknown: number;
}

const STRONG = 225;
const FAINT = 130;
const DIMMED = 28;

/** The most frequent top tags, each with a colour: that of before, else that of its number where it is free. */
export function legend(tops: Uint16Array, before: readonly Entry[]): Legend {
  const counts = new Map<number, number>();
  for (const top of tops) counts.set(top, (counts.get(top) ?? 0) + 1);
  const unknown = counts.get(UNKNOWN) ?? 0;
  counts.delete(UNKNOWN);
  const first = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, CATEGORIES);
  const kept = new Map(before.map((entry) => [entry.tag, entry.slot]));
  const slots = new Map(first.filter(([tag]) => kept.has(tag)).map(([tag]) => [tag, kept.get(tag)!]));
  const taken = new Set(slots.values());
  // by the number of the tag, not by its rank: after a reload the map has the same colours
  for (const tag of first.map(([one]) => one).sort((a, b) => a - b)) {
    if (slots.has(tag)) continue;
    let slot = tag % CATEGORIES;
    while (taken.has(slot)) slot = (slot + 1) % CATEGORIES;
    slots.set(tag, slot);
    taken.add(slot);
  }
  const entries = first.map(([tag, count]) => ({ tag, count, slot: slots.get(tag)! }));
  const others = tops.length - unknown - first.reduce((sum, [, count]) => sum + count, 0);
  return { entries, others, unknown };
}

/** Items in the order of a few layers, lowest first. */
function layered(layers: Uint8Array, most: number): Uint32Array {
  const begins = new Uint32Array(most + 2);
  for (const layer of layers) begins[layer + 1]! += 1;
  for (let layer = 0; layer <= most; layer++) begins[layer + 1]! += begins[layer]!;
  const order = new Uint32Array(layers.length);
  layers.forEach((layer, item) => (order[begins[layer]!++] = item));
  return order;
}

/** By top tag; `alone`: only this tag in full colour. */
export function byTop(tops: Uint16Array, entries: readonly Entry[], alone: number | null, dark: boolean): Paint {
  const palette = categoryColours(dark).map(parse);
  const grey = parse(othersColour(dark));
  const slots = new Map(entries.map((entry) => [entry.tag, entry.slot]));
  const colours = new Uint8Array(4 * tops.length);
  const layers = new Uint8Array(tops.length);
  tops.forEach((top, item) => {
    const slot = slots.get(top);
    const dimmed = alone !== null && top !== alone;
    colours.set(slot === undefined ? grey : palette[slot]!, 4 * item);
    colours[4 * item + 3] = dimmed ? DIMMED : slot === undefined ? FAINT : STRONG;
    layers[item] = dimmed || slot === undefined ? 0 : 1;
  });
  return { colours, order: layered(layers, 1) };
}

/** By a number from 0 to 1; the largest are drawn last. */
export function byScore(scores: Float32Array, dark: boolean): Paint {
  const steps = 64;
  const stops = scaleColours(dark).map(parse);
  const scale: Colour[] = Array.from({ length: steps }, (_, step) => along(stops, step / (steps - 1)));
  const colours = new Uint8Array(4 * scores.length);
  const layers = new Uint8Array(scores.length);
  scores.forEach((score, item) => {
    const layer = Math.min(steps - 1, Math.max(0, Math.round(score * (steps - 1)) || 0));
    colours.set(scale[layer]!, 4 * item);
    colours[4 * item + 3] = FAINT + Math.round((STRONG - FAINT) * Math.min(1, layer / 20));
    layers[item] = layer;
  });
  return { colours, order: layered(layers, steps - 1) };
}

/** Counts as numbers from 0 to 1, and what the ends stand for. One in fifty may have more than the upper end, so that a
 * few items with very many do not make all others look the same. */
export function byCount(counts: Uint16Array): { values: Float32Array; ends: string[] } {
  const some = counts.filter((count) => count > 0).sort();
  const most = some[Math.ceil(0.98 * some.length) - 1] ?? 1;
  const values = Float32Array.from(counts, (count) => Math.min(1, count / most));
  const middle = most > 1 && most % 2 === 0 ? [`${most / 2}`] : [];
  return { values, ends: ["0", ...middle, (some.at(-1) ?? 0) > most ? `${most} or more` : `${most}`] };
}

export interface Changes {
  rows: readonly number[];
  who: readonly number[];
  at: readonly number[];
}

/** Who changed each item last, as top tags are given: a place in the list of people, `UNKNOWN` for nobody. */
export function byPerson({ rows, who }: Changes, items: number): Uint16Array {
  const found = new Uint16Array(items).fill(UNKNOWN);
  rows.forEach((row, place) => {
    if (row < items) found[row] = who[place]!;
  });
  return found;
}

/** Where the untouched end and the first change begins. */
const OLDEST = 0.25;

/** When each item was changed last, from 0 (never) to 1 (the latest). */
export function byTime({ rows, at }: Changes, items: number): { values: Float32Array; from: number; to: number } {
  const from = at.reduce((low, time) => Math.min(low, time), Infinity);
  const to = at.reduce((high, time) => Math.max(high, time), -Infinity);
  const values = new Float32Array(items);
  rows.forEach((row, place) => {
    const share = to > from ? (at[place]! - from) / (to - from) : 1;
    if (row < items) values[row] = OLDEST + (1 - OLDEST) * share;
  });
  return { values, from, to };
}
