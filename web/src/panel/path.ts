/**
 * The exact path of one assignment over lam, drawn and read in the browser.
 *
 * Shares are straight lines in gamma between breakpoints. The slider runs from the
 * expert alone (0) to the crowd alone (1) by s = 1 / (1 + (gamma / middle) ** POWER),
 * with the model's own gamma in the middle. Breakpoints lie over many powers of ten
 * of gamma; the fourth root spreads them over the slider.
 */

import type { ModelDetails } from "../lib/types";

const POWER = 0.25;

/** The gamma that sits in the middle of the slider; 1 where the model's own is of no use. */
export function middle({ gamma }: ModelDetails): number {
  return Number.isFinite(gamma) && gamma > 0 ? gamma : 1;
}

export const positionOf = (gamma: number, mid: number): number => 1 / (1 + (gamma / mid) ** POWER);

/** Infinity at the very left: the expert alone. */
export const gammaAt = (position: number, mid: number): number =>
  position <= 0 ? Infinity : position >= 1 ? 0 : mid * ((1 - position) / position) ** (1 / POWER);

/** The value at one gamma: `between` two breakpoints, that of the last one after it. */
function interpolated<T>(
  gammas: readonly number[],
  values: readonly T[],
  gamma: number,
  between: (from: T, to: T, part: number) => T,
): T {
  // the first breakpoint beyond gamma
  let low = 0;
  let high = gammas.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (gammas[half]! > gamma) high = half;
    else low = half + 1;
  }
  if (low === 0) return values[0]!;
  if (low === gammas.length) return values[low - 1]!;
  const from = gammas[low - 1]!;
  return between(values[low - 1]!, values[low]!, (gamma - from) / (gammas[low]! - from));
}

/** The shares at one gamma, a number a tag. */
export function sharesAt({ gammas, path, shares }: ModelDetails, gamma: number): number[] {
  if (!gammas.length) return shares;
  return interpolated(gammas, path, gamma, (from, to, part) =>
    from.map((share, tag) => share + part * (to[tag]! - share)),
  );
}

/** Points of the chart: the slider's positions of breakpoints, and enough between for smooth curves. */
export const SAMPLES = 97;

/** Shares of each tag at evenly spread positions of the slider. */
export function sampled(details: ModelDetails): Map<number, number[]> {
  const mid = middle(details);
  const columns = Array.from({ length: SAMPLES }, (_, place) =>
    sharesAt(details, gammaAt(place / (SAMPLES - 1), mid)),
  );
  return new Map(details.tags.map((tag, place) => [tag, columns.map((column) => column[place]!)]));
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

export interface Sum {
  crowd: number[];
  expert: number[];
  threshold: number;
}

/**
 * What adds up to the shares at another gamma: the crowd stays, the expert's pull is gamma times the annotations, and
 * the threshold is linear between breakpoints and after the last. Null where a rule decides, and at the very end of
 * the slider, where the numbers have no end.
 */
export function sumAt(details: ModelDetails, gamma: number): Sum | null {
  const { crowd, affinities, thresholds, gammas } = details;
  if (details.threshold === null || !Number.isFinite(gamma)) return null;
  const beyond = Math.max(0, gamma - (gammas.at(-1) ?? 0));
  return {
    crowd,
    expert: affinities.map((affinity) => gamma * affinity),
    threshold: interpolated(gammas, thresholds, gamma, (from, to, part) => from + part * (to - from)) +
      beyond * Math.max(...affinities),
  };
}
