import { expect, it } from "vitest";
import { annotationOf, withAnnotation } from "./annotations";
import type { ItemRow } from "./types";

const row: ItemRow = {
  row: 0,
  id: "a",
  title: "a",
  snippet: "",
  annotations: [
    { tag: 1, value: 1 },
    { tag: 2, value: 1 },
  ],
  suggestions: [{ tag: 5, score: 0.5, strength: 0.5 }],
  doubted: [1],
  reason: "",
  picture: false,
  flagged: false,
  disputed: [],
};

it("adds an annotation and removes the suggestion", () => {
  const after = withAnnotation(row, { row: 0, tag: 5, value: -1 });
  expect(annotationOf(after, 5)).toBe(-1);
  expect(after.suggestions).toEqual([]);
  expect(annotationOf(row, 5)).toBe(0);
  expect(annotationOf(undefined, 5)).toBe(0);
});

it("changes an annotation: positive ones come first", () => {
  const after = withAnnotation(row, { row: 0, tag: 1, value: -1 });
  expect(after.annotations.map((annotation) => annotation.tag)).toEqual([2, 1]);
  expect(after.doubted).toEqual([]);
});

it("withdraws an annotation", () => {
  expect(withAnnotation(row, { row: 0, tag: 1, value: 0 }).annotations).toEqual([{ tag: 2, value: 1 }]);
});
