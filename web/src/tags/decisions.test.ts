import { expect, it } from "vitest";
import type { Row } from "../lib/types";
import { nextOpen, saidOn } from "./decisions";

it("goes on to the next open row, then around", () => {
  expect(nextOpen([true, true, false, true], 1)).toBe(3);
  expect(nextOpen([true, false, false, false], 2)).toBe(0);
  expect(nextOpen([false, false], 1)).toBe(1);
  expect(nextOpen([], 0)).toBe(0);
});

it("reads what is said", () => {
  const row = { stated: [{ tag: 4, value: -1 }] } as unknown as Row;
  expect(saidOn(row, 4)).toBe(-1);
  expect(saidOn(row, 5)).toBe(0);
});
