import { expect, it } from "vitest";
import { nextOpen } from "./decisions";

it("goes on to the next open row, then around", () => {
  expect(nextOpen([true, true, false, true], 1)).toBe(3);
  expect(nextOpen([true, false, false, false], 2)).toBe(0);
  expect(nextOpen([false, false], 1)).toBe(1);
  expect(nextOpen([], 0)).toBe(0);
});
