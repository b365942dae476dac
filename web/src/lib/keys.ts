/** Which key does what. Pure: a key press and what came before it go in, a command comes out. */

import type { View } from "./studio.svelte";

export type Command =
  | { do: "move" | "extend"; by: number }
  | { do: "ends"; end: "first" | "last" }
  | { do: "accept" | "reject"; place: number | null }
  | { do: "view"; view: View }
  | { do: "undo" | "redo" | "search" | "next" | "add" | "enter" | "help" | "close" | "refresh" | "skip" | "flag" };

/** The parts of a KeyboardEvent that matter. */
export interface Press {
  key: string;
  code: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

const VIEWS: Record<string, View> = { r: "review", i: "items", m: "map", t: "tags", p: "progress" };

const PLAIN: Record<string, Command> = {
  j: { do: "move", by: 1 },
  ArrowDown: { do: "move", by: 1 },
  k: { do: "move", by: -1 },
  ArrowUp: { do: "move", by: -1 },
  PageDown: { do: "move", by: 10 },
  PageUp: { do: "move", by: -10 },
  Home: { do: "ends", end: "first" },
  End: { do: "ends", end: "last" },
  a: { do: "accept", place: null },
  x: { do: "reject", place: null },
  u: { do: "undo" },
  U: { do: "redo" },
  "/": { do: "search" },
  n: { do: "next" },
  t: { do: "add" },
  s: { do: "skip" },
  f: { do: "flag" },
  r: { do: "refresh" },
  Enter: { do: "enter" },
  "?": { do: "help" },
  Escape: { do: "close" },
};

/** The command of a key press; `chord` is true when the last press was a lone "g". */
export function command(press: Press, chord = false): Command | null {
  if (press.altKey) return null;
  if (press.ctrlKey || press.metaKey) {
    if (press.key.toLowerCase() !== "z") return null;
    return { do: press.shiftKey ? "redo" : "undo" };
  }
  if (chord) {
    const view = VIEWS[press.key];
    return view ? { do: "view", view } : null;
  }
  // With Shift the key of a digit is "!", "§" and so on, as the keyboard has it; the code stays.
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(press.code)?.[1];
  if (digit) return { do: press.shiftKey ? "reject" : "accept", place: Number(digit) - 1 };
  const found = PLAIN[press.key] ?? null;
  return found?.do === "move" && press.shiftKey && press.key.length > 1 ? { do: "extend", by: found.by } : found;
}

const TYPED = /^(?:text|search|email|url|tel|password|number|date|datetime-local|month|time|week)$/;

/** Whether keys belong to the element, because one types into it or it has keys of its own. */
export function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && TYPED.test(target.type);
}

/** Keys that the focused element itself answers to: a slider's arrows, a button's Enter, all keys in a menu. */
export function keeps(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && target.type === "range")
    return /^(?:Arrow|Page|Home|End)/.test(key);
  if (target.closest("[role=menu], [popover]")) return true;
  if (key === "Enter") return target.closest("button, a[href], summary, input") !== null;
  return /^(?:Arrow|Home|End)/.test(key) && target.closest("[role=tablist], [role=radiogroup]") !== null;
}

/** What the help shows. */
export const HELP: { part: string; keys: [string[], string][] }[] = [
  {
    part: "Review",
    keys: [
      [["a"], "accept"],
      [["x"], "reject"],
      [["s"], "skip"],
      [["f"], "flag, to come back to"],
      [["u"], "undo, back to that question"],
    ],
  },
  {
    part: "Items",
    keys: [
      [["j", "↓"], "next item"],
      [["k", "↑"], "previous item"],
      [["n"], "next item to label"],
      [["/"], "search"],
      [["r"], "refresh the list"],
      [["Shift ↓", "Ctrl A"], "choose several items, or all"],
      [["Ctrl C", "Ctrl V"], "copy the tags of the item, paste them"],
      [["Enter"], "into the panel"],
      [["Esc"], "back, close"],
    ],
  },
  {
    part: "Tags of the item",
    keys: [
      [["1", "…", "9"], "accept that suggestion"],
      [["Shift 1", "…", "9"], "reject it"],
      [["a"], "accept the first open one"],
      [["x"], "reject the first open one"],
      [["t"], "add any tag"],
      [["u", "Ctrl Z"], "undo"],
      [["Shift U", "Ctrl Shift Z"], "redo"],
    ],
  },
  {
    part: "Views",
    keys: [
      [["g", "r"], "review"],
      [["g", "i"], "items"],
      [["g", "m"], "map"],
      [["g", "t"], "tags"],
      [["g", "p"], "progress"],
      [["?"], "this help"],
    ],
  },
  {
    part: "Map",
    keys: [
      [["+", "−", "0"], "nearer, farther, all of it"],
      [["←", "↑", "→", "↓"], "move"],
      [["l"], "lasso, or drag with Shift"],
    ],
  },
  {
    part: "Page of a tag",
    keys: [
      [["j", "k"], "next, previous item"],
      [["a", "x"], "is, is not"],
      [["w"], "withdraw a doubtful tag"],
    ],
  },
];
