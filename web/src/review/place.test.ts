import { expect, it } from "vitest";
import { readPlace, writtenPlace, type ReviewPlace } from "./place";

it("comes back from the address as it went in", () => {
  const places: ReviewPlace[] = [
    { order: "surest", filter: "all", tag: null },
    { order: "useful", filter: "untagged", tag: null },
    { order: "doubtful", filter: "all", tag: 0 },
    { order: "disputed", filter: "all", tag: null },
    { order: "surest", filter: "flagged", tag: 257 },
  ];
  for (const place of places) expect(readPlace(writtenPlace(place))).toEqual(place);
  expect(writtenPlace(places[0]!)).toBe("");
});

it("takes nonsense as everything", () => {
  for (const place of ["", "x", "useless.nothing.-1", "..", "surest.all.1e9"])
    expect(writtenPlace(readPlace(place))).toBe("");
});
