/** Names of groups on the map: where each is written, and which must give way. */

import type { ItemGroup } from "../lib/types";
import type { Size } from "./camera";

export interface GroupLabel {
  name: string;
  group: ItemGroup;
  /** place in the list, which gives its colour */
  place: number;
  x: number;
  y: number;
}

export const groupsTitle = (groups: readonly ItemGroup[]): string =>
  groups.some((group) => group.terms.length > 0) ? "Groups found in the texts" : "Groups of similar items";

const middle = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** The name of each group at the median of its points, which lies among them also where some are far away. */
export function groupLabels(groups: readonly ItemGroup[], positions: Float32Array): GroupLabel[] {
  return groups.map((group, place) => {
    const rows = group.rows.filter((row) => 2 * row + 1 < positions.length);
    return {
      name: group.name,
      group,
      place,
      x: middle(rows.map((row) => positions[2 * row]!)),
      y: middle(rows.map((row) => positions[2 * row + 1]!)),
    };
  });
}

/** Width of a letter and height of a line, in pixels, somewhat more than needed. */
const LETTER = 8.5;
const LINE = 24;

/** The tools above the plot: as wide as they are in one row, and as high as in one or, on a phone, in two. */
const TOOLS = 440;
const ROW = 48;

/** Labels with room on the screen; the first come first, and those that would lie on one of them or on the tools are
 * left out. One that would be cut off at a side is moved in, as long as its place is in sight. */
export function withRoom<Label extends { name: string; x: number; y: number }>(
  labels: readonly Label[],
  project: (x: number, y: number) => [number, number],
  size: Size,
): (Label & { left: number; top: number })[] {
  const kept: (Label & { left: number; top: number; half: number })[] = [];
  for (const label of labels) {
    const [at, top] = project(label.x, label.y);
    const half = (label.name.length * LETTER) / 2 + 10;
    const inSight = at >= 0 && at <= size.width && 2 * half <= size.width;
    const left = inSight ? Math.min(size.width - half, Math.max(half, at)) : at;
    const tools = size.width < TOOLS ? 2 * ROW : ROW;
    if (left - half < TOOLS && top - LINE / 2 < tools && top > 0) continue;
    const free = kept.every(
      (other) => Math.abs(other.left - left) > other.half + half || Math.abs(other.top - top) > LINE,
    );
    if (free) kept.push({ ...label, left, top, half });
  }
  return kept;
}

/** The group of every item, as the top tag is given: its place in the list, 65535 for none. */
export function groupOfItems(groups: readonly ItemGroup[], items: number): Uint16Array {
  const found = new Uint16Array(items).fill(65535);
  groups.forEach((group, place) => {
    for (const row of group.rows) if (row < items) found[row] = place;
  });
  return found;
}
