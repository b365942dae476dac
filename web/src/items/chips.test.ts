import { expect, it } from "vitest";
import { fitting } from "./chips";

it("shows as many tags as fit, one at least, and all where there is room", () => {
  expect(fitting([], 300)).toBe(0);
  expect(fitting([10, 10, 10], 1000)).toBe(3);
  expect(fitting([10, 10, 10], 240)).toBe(1);
  expect(fitting([10, 10, 10], 300)).toBe(3);
  expect(fitting([90, 10], 200)).toBe(1);
  for (let room = 0; room < 900; room += 50)
    expect(fitting([5, 20, 8, 12], room)).toBeLessThanOrEqual(fitting([5, 20, 8, 12], room + 50));
});
