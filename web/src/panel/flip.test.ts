import { expect, it } from "vitest";
import { flipSentence } from "./flip";

const name = (tag: number) => `tag ${tag}`;

it("says what would flip it", () => {
  expect(flipSentence(null, 0, name)).toBe("");
  expect(flipSentence({ top: 1, runnerUp: 2, change: null }, 0, name)).toContain("No word on “tag 2”");
  expect(flipSentence({ top: 1, runnerUp: 2, change: 0.25 }, 0, name)).toContain("0.25 of a word is enough");
  expect(flipSentence({ top: 1, runnerUp: 2, change: 0.5 }, 1, name)).toContain("is firm");
  expect(flipSentence({ top: 1, runnerUp: 2, change: 0 }, 0, name)).toContain("level");
});
