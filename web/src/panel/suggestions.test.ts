import { expect, it } from "vitest";
import type { Detail, Row } from "../lib/types";
import { merged } from "./suggestions";

const row = (tags: number[], stated: number[] = []): Row => ({
  row: 0,
  id: "a",
  title: "a",
  snippet: "",
  stated: stated.map((tag) => ({ tag, value: 1 })),
  suggested: tags.map((tag, place) => ({ tag, score: 0.9 - place / 10, share: 0 })),
  doubted: [],
  picture: false,
});
const tags = (shown: { tag: number }[]) => shown.map((one) => one.tag);

it("begins with the likeliest", () => {
  expect(tags(merged([], row([4, 2, 8]), null))).toEqual([4, 2, 8]);
});

it("keeps decided ones in their place, and puts new ones at the end", () => {
  const first = merged([], row([4, 2]), null);
  expect(tags(merged(first, row([9, 2], [4]), null))).toEqual([4, 2, 9]);
});

it("takes new scores and reasons without moving anything", () => {
  const first = merged([], row([4, 2]), null);
  const news = row([2, 4]);
  const detail = { ...news, reasons: [{ tag: 4, score: 0.1, share: 0, because: { crowd: 1 } }] } as unknown as Detail;
  const second = merged(first, news, detail);
  expect(tags(second)).toEqual([4, 2]);
  expect(second[0]).toMatchObject({ score: 0.1, because: { crowd: 1 } });
});

it("goes on to the next ones when all are decided", () => {
  const first = merged([], row([4, 2]), null);
  expect(tags(merged(first, row([7, 6], [4, 2]), null))).toEqual([7, 6]);
});
