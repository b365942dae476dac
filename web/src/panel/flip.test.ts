import { expect, it } from "vitest";
import { flipSentence } from "./flip";

const name = (tag: number) => `tag ${tag}`;
const sentence = (change: number, possible: boolean) =>
  flipSentence({ top: 1, runnerUp: 2, change, possible }, name);

it("describes what would put another tag first", () => {
  expect(sentence(0.25, true)).toBe("Adding “tag 2” would put it before “tag 1”: +0.25 is enough, and an annotation counts 1.");
  expect(sentence(0.012, true)).toContain("+0.012 is enough");
  expect(sentence(0.5, false)).toContain("“tag 1” stays first");
  expect(sentence(0, true)).toContain("level");
});
