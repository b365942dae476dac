import { expect, it } from "vitest";
import type { Row } from "./types";
import { valueOf, withWord } from "./words";

const row: Row = {
  row: 0,
  id: "a",
  title: "a",
  snippet: "",
  stated: [
    { tag: 1, value: 1 },
    { tag: 2, value: 1 },
  ],
  suggested: [{ tag: 5, score: 0.5, share: 0 }],
  doubted: [1],
  picture: false,
};

it("adds a word and takes the suggestion away", () => {
  const after = withWord(row, { row: 0, tag: 5, value: -1 });
  expect(valueOf(after, 5)).toBe(-1);
  expect(after.suggested).toEqual([]);
  expect(valueOf(row, 5)).toBe(0);
});

it("changes a word: what it is comes before what it is not", () => {
  const after = withWord(row, { row: 0, tag: 1, value: -1 });
  expect(after.stated.map((word) => word.tag)).toEqual([2, 1]);
  expect(after.doubted).toEqual([]);
});

it("withdraws a word", () => {
  expect(withWord(row, { row: 0, tag: 1, value: 0 }).stated).toEqual([{ tag: 2, value: 1 }]);
});
