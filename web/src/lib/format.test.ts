import { expect, it } from "vitest";
import { ago, between, fitted, left, percent, plural, short, signed } from "./format";

it("writes numbers as people read them", () => {
  expect(percent(0.754)).toBe("75 %");
  expect(percent(0.004)).toBe("<1 %");
  expect(percent(0)).toBe("0 %");
  expect(percent(0.997)).toBe(">99 %");
  expect(percent(1)).toBe("100 %");
  expect(plural(1, "item")).toBe("1 item");
  expect(plural(6000, "item")).toBe("6,000 items");
  expect(signed(-0.5)).toBe("−0.50");
  expect(signed(0.25)).toBe("+0.25");
  expect(signed(-0.0001)).toBe("0.00");
});

it("describes how long ago something was", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");
  expect(ago("2026-03-10T11:59:58Z", now)).toBe("just now");
  expect(ago("2026-03-10T11:55:00Z", now)).toBe("5 minutes ago");
  expect(ago("2026-03-09T12:00:00Z", now)).toBe("1 day ago");
  expect(ago("2026-01-01T12:00:00Z", now)).toBe("Jan 1, 2026");
  expect(ago("never", now)).toBe("never");
});

it("fits numbers of any size into a column", () => {
  for (const value of [0, 1e-9, 0.5, 99.9994, 100, 12_345, 13_125_414.123, -13_125_414.123, 1e300, Infinity, -Infinity])
    expect(Math.max(fitted(value).length, short(value).length)).toBeLessThanOrEqual(8);
  expect(fitted(13_125_414.123)).toBe("+1.3e7");
  expect(fitted(-0.25)).toBe("−0.250");
});

it("says about how long something takes", () => {
  expect([0, 7.4, 34, 61, 3000].map(left)).toEqual([
    "some seconds left",
    "about 7 s left",
    "about 30 s left",
    "about 1 minute left",
    "about 50 minutes left",
  ]);
});

it("names two times as shortly as they differ", () => {
  const at = new Date(2026, 2, 10, 9, 5).getTime() / 1000;
  expect(between(at, at + 86_400)).toEqual(["Mar 10, 2026", "Mar 11, 2026"]);
  expect(between(at, at + 3600)).toEqual(["09:05", "10:05"]);
  expect(between(at, at + 2)).toEqual(["09:05"]);
});
