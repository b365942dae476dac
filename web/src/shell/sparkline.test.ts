import { expect, it } from "vitest";
import { grown, line } from "./sparkline";

it("keeps one solve, and starts again with the next", () => {
  expect(grown([1, 0.1], 0.01)).toEqual([1, 0.1, 0.01]);
  expect(grown([1, 0.001], 1)).toEqual([1]);
  expect(grown([1], 1)).toEqual([1]);
  expect(grown(new Array<number>(100).fill(1), 0.5)).toHaveLength(80);
});

it("falls from the top left to the bottom right", () => {
  expect(line([1, 0.1, 0.01], 40, 10)).toBe("0.0,0.0 20.0,5.0 40.0,10.0");
  expect(line([1], 40, 10)).toBe("");
});
