import { expect, it } from "vitest";
import type { ReviewQuestion } from "../lib/types";
import { keyOf, rate, remaining } from "./questions";

const ask = (row: number, tag: number, strength = 0.9): ReviewQuestion => ({
  row,
  tag,
  strength,
  score: strength,
  stated: false,
  differ: false,
});

it("asks each question once, in the order it was planned", () => {
  const known = [ask(1, 0), ask(2, 0)];
  const latest = [ask(2, 0, 0.8), ask(3, 1)];
  expect(remaining(known, latest, new Set()).map(keyOf)).toEqual(["1 0", "2 0", "3 1"]);
});

it("takes the newest score of a question", () => {
  expect(remaining([ask(2, 0, 0.9)], [ask(2, 0, 0.7)], new Set())[0]?.score).toBe(0.7);
});

it("leaves out what was decided", () => {
  expect(remaining([ask(1, 0)], [ask(2, 0)], new Set(["1 0", "2 0"]))).toEqual([]);
});

it("tells the rate after a few answers", () => {
  expect(rate([0, 1000, 2000])).toBeNull();
  expect(rate([0, 1500, 3000, 4500, 6000])).toBe(40);
});
