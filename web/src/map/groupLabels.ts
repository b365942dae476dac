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

const isNumbered = ({ name, number }: ItemGroup): boolean => name === `group ${number}`;

/** The name of each group at the median of its points, which lies among them also where some are far away. Where any
 * group has a name of its own, those that have a number alone are left out: beside names it says nothing. */
export function groupLabels(groups: readonly ItemGroup[], positions: Float32Array): GroupLabel[] {
  const named = !groups.every(isNumbered);
  return groups.flatMap((group, place) => {
    if (named && isNumbered(group)) return [];
    const rows = group.rows.filter((row) => 2 * row + 1 < positions.length);
    const x = middle(rows.map((row) => positions[2 * row]!));
    const y = middle(rows.map((row) => positions[2 * row + 1]!));
    return [{ name: group.name, group, place, x, y }];
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
): (Label & { left: number; top: number; half: number })[] {
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

/** Pixels of a picture on the map, with its border and some room. */
const PICTURE = 46;

/** Pictures with room on the screen: those that would lie on one before, on a name or on the tools are left out. Under
 * a name that hides all of a place, one of them moves above or below it: by `lift` pixels. */
export function picturesWithRoom<Picture extends { left: number; top: number }>(
  pictures: readonly Picture[],
  names: readonly { left: number; top: number; half: number }[],
  size: Size,
): (Picture & { lift: number })[] {
  const kept: (Picture & { lift: number })[] = [];
  const tools = size.width < TOOLS ? 2 * ROW : ROW;
  const nameAt = (left: number, top: number) =>
    names.find((name) => Math.abs(name.left - left) < name.half + PICTURE / 2 && Math.abs(name.top - top) < (LINE + PICTURE) / 2);
  const isFree = (left: number, top: number) =>
    !(left - PICTURE / 2 < TOOLS && top - PICTURE / 2 < tools) &&
    !nameAt(left, top) &&
    kept.every((other) => Math.abs(other.left - left) >= PICTURE || Math.abs(other.top + other.lift - top) >= PICTURE);
  for (const one of pictures) if (isFree(one.left, one.top)) kept.push({ ...one, lift: 0 });
  for (const one of pictures) {
    const name = nameAt(one.left, one.top);
    if (!name || kept.some(({ left, top }) => Math.hypot(left - name.left, top - name.top) < 2 * PICTURE)) continue;
    const beside = (LINE + PICTURE) / 2;
    const top = [name.top - beside, name.top + beside].find((place) => isFree(one.left, place));
    if (top !== undefined) kept.push({ ...one, lift: top - one.top });
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
