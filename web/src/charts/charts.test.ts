import { describe, expect, it } from "vitest";
import { along, CATEGORIES, categoryColours, parse, scaleColours } from "./palette";
import { ticks, timeTicks } from "./scales";

const HOUR = 3_600_000;

describe("ticks", () => {
  it("covers everything with whole, round numbers", () => {
    expect(ticks(0, 17)).toEqual([0, 5, 10, 15, 20]);
    expect(ticks(0, 6000)).toEqual([0, 2000, 4000, 6000]);
    expect(ticks(28_703, 28_715)).toEqual([28_700, 28_705, 28_710, 28_715]);
    for (const low of [0, 7, 990]) {
      for (const high of [1, 2, 3, 9, 11, 99, 101, 63_620].map((above) => low + above)) {
        const marks = ticks(low, high);
        expect(marks[0]).toBeLessThanOrEqual(low);
        expect(marks.at(-1)).toBeGreaterThanOrEqual(high);
        expect(marks.length).toBeLessThan(8);
        expect(marks.every(Number.isInteger)).toBe(true);
      }
    }
  });
  it("has an axis even where nothing is there", () => {
    expect(ticks(0, 1)).toEqual([0, 1]);
  });
});

describe("timeTicks", () => {
  it("lies within, in order, few", () => {
    for (const length of [1000, HOUR, 30 * HOUR, 900 * HOUR, 90_000 * HOUR]) {
      const marks = timeTicks(1_700_000_000_000, 1_700_000_000_000 + length);
      expect(marks.length).toBeLessThanOrEqual(8);
      expect(marks.every((mark, place) => place === 0 || mark > marks[place - 1]!)).toBe(true);
      expect(marks.every((mark) => mark >= 1_700_000_000_000 && mark <= 1_700_000_000_000 + length)).toBe(true);
    }
  });
});

describe("colours", () => {
  it("has as many on dark as on light paper", () => {
    expect(categoryColours(true)).toHaveLength(CATEGORIES);
    expect(new Set(categoryColours(false)).size).toBe(CATEGORIES);
  });
  it("goes from the first to the last colour, whatever is asked", () => {
    const colours = scaleColours(false).map(parse);
    expect(along(colours, 0)).toEqual(colours[0]);
    expect(along(colours, 1)).toEqual(colours.at(-1));
    expect(along(colours, 7)).toEqual(colours.at(-1));
    expect(along(colours, Number.NaN)).toEqual(colours[0]);
    expect(along([[0, 0, 0], [100, 200, 50]], 0.5)).toEqual([50, 100, 25]);
  });
});
