import { expect, it } from "vitest";
import type { LoggedAction } from "../lib/types";
import { ofTags, rest, shownOf } from "./actions";

const change = {
  number: 1, batch: 1, at: "2026-01-01T00:00:00Z", who: "ann", row: 1, item: "a", tag: 0, value: 1 as const, undone: false,
  undoes: false,
};
const action = (changes: Partial<LoggedAction>): LoggedAction => ({
  number: 1, at: change.at, who: "ann", imported: false, tags: [], count: 1, items: 1, same: false, moves: false,
  undone: false, undoes: false, again: false, changes: [change], ...changes,
});

it("says of a merge what it was, and on how many items, in one line", () => {
  const merged = action({ tags: ["merged A into B"], count: 428, items: 214, moves: true });
  expect(ofTags(merged)).toBe("merged A into B (214 items)");
  expect(shownOf(merged)).toEqual([]);
  expect(rest(merged)).toBe("");
});

it("shows single changes, and counts the others", () => {
  expect(shownOf(action({}))).toEqual([change]);
  expect(rest(action({}))).toBe("");
  expect(rest(action({ count: 1200, items: 300 }))).toBe("and 1,199 more on 300 items, in the same action");
});

it("counts what was imported", () => {
  const imported = action({ imported: true, count: 12_000, items: null });
  expect(shownOf(imported)).toEqual([]);
  expect(rest(imported)).toBe("12,000 annotations");
});
