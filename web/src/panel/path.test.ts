import { describe, expect, it } from "vitest";
import type { ModelDetails } from "../lib/types";
import { between, gammaAt, middle, positionOf, sampled, SAMPLES, sharesAt, stacked, sumAt } from "./path";

/** The exact projection onto the simplex, by sorting: what a path must agree with. */
function projected(values: number[]): number[] {
  const sorted = values.toSorted((a, b) => b - a);
  let sum = 0;
  let threshold = 0;
  sorted.forEach((value, place) => {
    sum += value;
    const here = (sum - 1) / (place + 1);
    if (value > here) threshold = here;
  });
  return values.map((value) => Math.max(0, value - threshold));
}

const crowd = [0.5, 0.3, 0.2];
const affinities = [-1, 1, 0];
// worked out by hand: the first leaves at 0.5, where 0.5 - gamma is zero, the third at 0.9
const GAMMAS = [0, 0.5, 0.9];

function made(gamma: number): ModelDetails {
  const at = (value: number) => crowd.map((share, tag) => share + value * affinities[tag]!);
  const shares = projected(at(gamma));
  const thresholdAt = (value: number) => {
    const found = projected(at(value));
    const top = found.indexOf(Math.max(...found));
    return at(value)[top]! - found[top]!;
  };
  return {
    tags: [7, 3, 5],
    shares,
    gamma,
    lam: 1,
    degree: 1 / (2 * gamma),
    gammas: GAMMAS,
    path: GAMMAS.map((value) => projected(at(value))),
    thresholds: GAMMAS.map(thresholdAt),
    affinities,
    crowd,
    expert: affinities.map((affinity) => affinity * gamma),
    threshold: thresholdAt(gamma),
    neighbours: [],
    flip: null,
    note: "",
    facets: [],
    facet: null,
  };
}

describe("path", () => {
  const details = made(0.2);

  it("is the projection at every gamma", () => {
    for (const gamma of [0, 0.05, 0.2, 0.49, 0.5, 0.7, 0.9, 3, Infinity]) {
      const wanted = projected(crowd.map((share, tag) => share + Math.min(gamma, 9) * affinities[tag]!));
      sharesAt(details, gamma).forEach((share, tag) => expect(share).toBeCloseTo(wanted[tag]!, 12));
    }
  });

  it("has the model in the middle, the crowd at the right, the expert at the left", () => {
    const mid = middle(details);
    expect(positionOf(details.gamma, mid)).toBe(0.5);
    expect(positionOf(0, mid)).toBe(1);
    expect(gammaAt(0, mid)).toBe(Infinity);
    expect(gammaAt(1, mid)).toBe(0);
    for (const position of [0.01, 0.3, 0.5, 0.77]) {
      expect(positionOf(gammaAt(position, mid), mid)).toBeCloseTo(position, 10);
    }
  });

  it("adds up wherever the slider is", () => {
    for (const gamma of [0.01, 0.2, 0.5, 0.7, 2]) {
      const sum = sumAt(details, gamma)!;
      const shares = sharesAt(details, gamma);
      shares.forEach((share, tag) =>
        expect(Math.max(0, sum.crowd[tag]! + sum.expert[tag]! - sum.threshold)).toBeCloseTo(share, 10),
      );
    }
    expect(sumAt(details, Infinity)).toBeNull();
    expect(sumAt({ ...details, threshold: null }, 1)).toBeNull();
  });

  it("has something to show without breakpoints or with a useless gamma", () => {
    expect(sharesAt({ ...details, gammas: [], path: [] }, 1)).toEqual(details.shares);
    expect(middle({ ...details, gamma: Infinity })).toBe(1);
    expect(middle({ ...details, gamma: 0 })).toBe(1);
  });
});

describe("drawing", () => {
  const drawing = sampled(made(0.2));

  it("fills the whole height everywhere", () => {
    for (let place = 0; place < SAMPLES; place++) {
      const total = [...drawing.values()].reduce((sum, values) => sum + values[place]!, 0);
      expect(total).toBeCloseTo(1, 10);
    }
    expect(stacked(drawing, 100, 50).map((area) => area.tag)).toEqual([7, 3, 5]);
  });

  it("grows from one to the other, tags of only one included", () => {
    const other = new Map([[9, new Array<number>(SAMPLES).fill(1)]]);
    const half = between(drawing, other)(0.5);
    expect(half.get(9)![0]).toBe(0.5);
    expect(half.get(7)![96]).toBeCloseTo(drawing.get(7)![96]! / 2, 12);
    expect(between(drawing, other)(1)).toBe(other);
  });
});
