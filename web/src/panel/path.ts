/**
 * The exact path of one assignment, drawn and read in the browser.
 *
 * Shares are straight lines in gamma between breakpoints. The slider runs from the
 * expert alone (0) to the crowd alone (1) by s = 1 / (1 + (gamma / middle) ** POWER),
 * with the model's own gamma in the middle. Breakpoints lie over many powers of ten
 * of gamma; the fourth root spreads them over the slider.
 */

import type { Assignment } from "../lib/types";

const POWER = 0.25;

/** The gamma that sits in the middle of the slider; 1 where the model's own is of no use. */
export function middle(assignment: Assignment): number {
  return Number.isFinite(assignment.gamma) && assignment.gamma > 0 ? assignment.gamma : 1;
}

export const positionOf = (gamma: number, mid: number): number => 1 / (1 + (gamma / mid) ** POWER);

/** Infinity at the very left: the expert alone. */
export const gammaAt = (position: number, mid: number): number =>
  position <= 0 ? Infinity : position >= 1 ? 0 : mid * ((1 - position) / position) ** (1 / POWER);

/** The shares at one gamma, a number a tag; on the straight line between two breakpoints, constant after the last. */
export function sharesAt(assignment: Assignment, gamma: number): number[] {
  const { gammas, path } = assignment;
  const last = gammas.length - 1;
  if (last < 0) return assignment.shares;
  // the first breakpoint beyond gamma
  let low = 0;
  let high = gammas.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (gammas[half]! > gamma) high = half;
    else low = half + 1;
  }
  if (low === 0) return path[0]!;
  if (low > last) return path[last]!;
  const from = gammas[low - 1]!;
  const part = (gamma - from) / (gammas[low]! - from);
  const after = path[low]!;
  return path[low - 1]!.map((share, tag) => share + part * (after[tag]! - share));
}

/** Points of the chart: the slider's positions of breakpoints, and enough between for smooth curves. */
export const SAMPLES = 97;

/** Shares of each tag at evenly spread positions of the slider. */
export function sampled(assignment: Assignment): Map<number, number[]> {
  const mid = middle(assignment);
  const columns = Array.from({ length: SAMPLES }, (_, place) =>
    sharesAt(assignment, gammaAt(place / (SAMPLES - 1), mid)),
  );
  return new Map(assignment.tags.map((tag, place) => [tag, columns.map((column) => column[place]!)]));
}

/** Something between two drawings, for the animation from one to the other; tags of only one grow or fade. */
export function between(
  from: Map<number, number[]>,
  to: Map<number, number[]>,
): (part: number) => Map<number, number[]> {
  const nothing = new Array<number>(SAMPLES).fill(0);
  const tags = [...to.keys(), ...[...from.keys()].filter((tag) => !to.has(tag))];
  return (part) => {
    if (part >= 1) return to;
    return new Map(
      tags.map((tag) => {
        const start = from.get(tag) ?? nothing;
        const end = to.get(tag) ?? nothing;
        return [tag, start.map((value, place) => value + part * (end[place]! - value))];
      }),
    );
  };
}

export interface Area {
  tag: number;
  /** path of the SVG, in a box of `width` x `height` */
  shape: string;
  /** where the area is thickest, away from the reading line in the middle: its name fits there, if anywhere */
  x: number;
  y: number;
  thickness: number;
}

/** Areas stacked from below, in the order of the tags. */
export function stacked(drawing: Map<number, number[]>, width: number, height: number): Area[] {
  const floor = new Array<number>(SAMPLES).fill(0);
  const step = width / (SAMPLES - 1);
  const areas: Area[] = [];
  for (const [tag, values] of drawing) {
    const upper: string[] = [];
    const lower: string[] = [];
    let thickest = Math.floor(SAMPLES / 4);
    for (let place = 0; place < SAMPLES; place++) {
      const below = floor[place]!;
      const above = below + values[place]!;
      const x = (place * step).toFixed(1);
      upper.push(`${x},${(height * (1 - above)).toFixed(2)}`);
      lower.push(`${x},${(height * (1 - below)).toFixed(2)}`);
      if (values[place]! > values[thickest]! + 0.02) thickest = place;
    }
    areas.push({
      tag,
      shape: `M${upper.join("L")}L${lower.reverse().join("L")}Z`,
      x: thickest * step,
      y: height * (1 - floor[thickest]! - values[thickest]! / 2),
      thickness: height * values[thickest]!,
    });
    for (let place = 0; place < SAMPLES; place++) floor[place]! += values[place]!;
  }
  return areas;
}

/** Whether shares are the sums that they should be, as far as one can see. */
const addsUp = ({ shares, crowd, expert, threshold }: Assignment): boolean =>
  shares.every((share, tag) => Math.abs(Math.max(0, crowd[tag]! + expert[tag]! - threshold) - share) < 2e-3);

export interface Sum {
  crowd: number[];
  expert: number[];
  threshold: number;
}

/**
 * What adds up to the shares at another gamma: the crowd stays, the expert's pull grows with gamma, and
 * the threshold is what is left over where a share is positive. Null where a rule decided, and at the very end
 * of the slider, where the numbers have no end.
 */
export function sumAt(assignment: Assignment, gamma: number): Sum | null {
  if (!addsUp(assignment)) return null;
  if (gamma === assignment.gamma) return assignment;
  if (!(assignment.gamma > 0) || !Number.isFinite(gamma)) return null;
  const expert = assignment.expert.map((pull) => (pull * gamma) / assignment.gamma);
  const shares = sharesAt(assignment, gamma);
  const top = shares.indexOf(Math.max(...shares));
  if (top < 0 || !(shares[top]! > 0)) return null;
  const threshold = assignment.crowd[top]! + expert[top]! - shares[top]!;
  return { crowd: assignment.crowd, expert, threshold };
}
