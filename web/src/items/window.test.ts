import { describe, expect, it } from "vitest";
import { reveal, visible } from "./window";

describe("visible", () => {
  it("draws what is in sight and a little more", () => {
    expect(visible(0, 600, 60, 1000)).toEqual({ first: 0, end: 16 });
    expect(visible(6000, 600, 60, 1000)).toEqual({ first: 94, end: 116 });
  });
  it("stays within the list", () => {
    expect(visible(0, 600, 60, 3)).toEqual({ first: 0, end: 3 });
    expect(visible(0, 600, 60, 0)).toEqual({ first: 0, end: 0 });
    expect(visible(59_400, 600, 60, 1000)).toEqual({ first: 984, end: 1000 });
    // the list has become shorter than where one had scrolled to
    expect(visible(59_400, 600, 60, 10)).toEqual({ first: 4, end: 10 });
    expect(visible(-50, 600, 60, 1000)).toEqual({ first: 0, end: 16 });
  });
});

describe("reveal", () => {
  it("moves nothing that is in sight", () => {
    expect(reveal(5, 0, 600, 60, 1000)).toBe(0);
    expect(reveal(105, 6000, 600, 60, 1000)).toBe(6000);
  });
  it("shows one row more than asked for", () => {
    expect(reveal(10, 0, 600, 60, 1000)).toBe(120);
    expect(reveal(50, 6000, 600, 60, 1000)).toBe(49 * 60);
  });
  it("stops at the ends", () => {
    expect(reveal(0, 6000, 600, 60, 1000)).toBe(0);
    expect(reveal(999, 0, 600, 60, 1000)).toBe(59_400);
    expect(reveal(1, 0, 600, 60, 2)).toBe(0);
  });
});
