import { expect, it } from "vitest";
import type { ItemDetails, ItemRow } from "../lib/types";
import { merged, whyNone } from "./suggestions";

const row = (tags: number[], annotated: number[] = []): ItemRow => ({
  row: 0,
  id: "a",
  title: "a",
  snippet: "",
  annotations: annotated.map((tag) => ({ tag, value: 1 })),
  suggestions: tags.map((tag, place) => ({ tag, score: 0.9 - place / 20, strength: 0.9 - place / 20 })),
  doubted: [],
  reason: "",
  picture: false,
  flagged: false,
  disputed: [],
});
const tags = (shown: { tag: number }[]) => shown.map((one) => one.tag);

it("begins with the highest score", () => {
  expect(tags(merged([], row([4, 2, 8]), null))).toEqual([4, 2, 8]);
});

it("keeps decided ones in their place, and puts new ones at the end", () => {
  const first = merged([], row([4, 2]), null);
  expect(tags(merged(first, row([9, 2], [4]), null))).toEqual([4, 2, 9]);
});

it("takes new scores and explanations without moving anything", () => {
  const first = merged([], row([4, 2]), null);
  const latest = row([2, 4]);
  const detail = { ...latest, explained: [{ tag: 4, score: 0.1, strength: 0.1, terms: ["mail"] }] } as unknown as ItemDetails;
  const second = merged(first, latest, detail);
  expect(tags(second)).toEqual([4, 2]);
  expect(second[0]).toMatchObject({ score: 0.1, why: { terms: ["mail"] } });
});

it("goes on to the next ones when all are decided", () => {
  const first = merged([], row([4, 2]), null);
  expect(tags(merged(first, row([7, 6], [4, 2]), null))).toEqual([7, 6]);
});

it("shows no number of one that is not suggested any more, and another for it", () => {
  const first = merged([], row([1, 2, 3, 4, 5, 6, 7, 8, 9]), null);
  const latest = row([10, 2, 3, 4, 5, 6, 7, 8, 9]);
  const detail = { ...latest, explained: latest.suggestions.map((one) => ({ ...one, parts: [] })) } as unknown as ItemDetails;
  const second = merged(first, latest, detail);
  expect(tags(second)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(second[0]).toMatchObject({ dropped: true, score: null, strength: 0 });
  const back = merged(second, row([1, 10]), null);
  expect(back[0]).toMatchObject({ tag: 1, score: 0.9 });
  expect(back[0]?.dropped).toBeUndefined();
});

it("shows a new one that is more likely than one of nine, and does not hide it behind decided ones", () => {
  const first = merged([], row([1, 2, 3, 4, 5, 6, 7, 8, 9]), null);
  expect(tags(merged(first, row([10, 1, 2, 3, 4, 5, 6, 7, 8, 9]), null)).at(-1)).toBe(10);
  expect(tags(merged(first, row([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), null))).not.toContain(10);
  expect(tags(merged(first, row([3, 4, 5, 6, 7, 8, 9, 10, 11], [1, 2]), null))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it("forgets a tag that was undone", () => {
  const first = merged([], row([4, 2]), null);
  expect(tags(merged(first, row([2]), null, (tag) => tag === 4))).toEqual([2]);
});

it("says why nothing is suggested, and speaks of other tags only where there are some", () => {
  expect(whyNone(row([], [4]), [4])).toBe("No suggestions: the only tag so far is decided here.");
  expect(whyNone(row([]), [4])).toBe(
    "No suggestions: the only tag so far is not more likely here than on an average item.",
  );
  expect(whyNone(row([], [4, 2]), [4, 2])).toBe("No suggestions: all tags are decided here.");
  expect(whyNone(row([], [4]), [4, 2])).toContain("no other tag is more likely");
  expect(whyNone(row([]), [4, 2])).toContain("no tag is more likely");
});
