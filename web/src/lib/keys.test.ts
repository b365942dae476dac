import { expect, it } from "vitest";
import { command, type Press } from "./keys";

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  code: "",
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

it("moves through the list", () => {
  expect(command(press("j"))).toEqual({ do: "move", by: 1 });
  expect(command(press("ArrowUp"))).toEqual({ do: "move", by: -1 });
});

it("accepts by digits and rejects with Shift, whatever the keyboard writes there", () => {
  expect(command(press("3", { code: "Digit3" }))).toEqual({ do: "accept", place: 2 });
  expect(command(press("!", { code: "Digit1", shiftKey: true }))).toEqual({ do: "reject", place: 0 });
  expect(command(press("§", { code: "Digit3", shiftKey: true }))).toEqual({ do: "reject", place: 2 });
  expect(command(press("0", { code: "Digit0" }))).toBeNull();
});

it("undoes and redoes", () => {
  expect(command(press("u"))).toEqual({ do: "undo" });
  expect(command(press("z", { ctrlKey: true }))).toEqual({ do: "undo" });
  expect(command(press("U", { shiftKey: true }))).toEqual({ do: "redo" });
  expect(command(press("Z", { metaKey: true, shiftKey: true }))).toEqual({ do: "redo" });
});

it("chooses several with Shift and an arrow", () => {
  expect(command(press("ArrowDown", { shiftKey: true }))).toEqual({ do: "extend", by: 1 });
  expect(command(press("PageUp", { shiftKey: true }))).toEqual({ do: "extend", by: -10 });
});

it("leaves other combinations to the browser", () => {
  expect(command(press("a", { ctrlKey: true }))).toBeNull();
  expect(command(press("1", { code: "Digit1", ctrlKey: true }))).toBeNull();
  expect(command(press("x", { altKey: true }))).toBeNull();
});

it("changes the view by two keys", () => {
  expect(command(press("m"), true)).toEqual({ do: "view", view: "map" });
  expect(command(press("t"), true)).toEqual({ do: "view", view: "tags" });
  expect(command(press("t"))).toEqual({ do: "add" });
  expect(command(press("z"), true)).toBeNull();
});
