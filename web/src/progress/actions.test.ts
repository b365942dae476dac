import { expect, it } from "vitest";
import type { LoggedChange } from "../lib/types";
import { actions } from "./actions";

const change = (number: number, batch: number, undone = false): LoggedChange => ({
  number, batch, at: "2026-01-01T00:00:00Z", who: "ann", row: number, item: `item ${number}`, tag: 0, value: 1, undone,
  undoes: false,
});

it("gathers what was one action, the newest first", () => {
  const found = actions([change(3, 2), change(2, 2), change(1, 1)]);
  expect(found.map((action) => [action.number, action.changes.length])).toEqual([[3, 2], [1, 1]]);
});

it("keeps two imports apart, though neither has a number", () => {
  const later = { ...change(9, 0), at: "2026-01-02T00:00:00Z" };
  const found = actions([later, change(2, 0), change(1, 0)]);
  expect(found.map((action) => [action.imported, action.changes.length])).toEqual([[true, 1], [true, 2]]);
});

it("calls an action undone only if all of it is", () => {
  expect(actions([change(2, 1, true), change(1, 1, false)])[0]!.undone).toBe(false);
  expect(actions([change(2, 1, true), change(1, 1, true)])[0]!.undone).toBe(true);
});
