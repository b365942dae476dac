import { describe, expect, it } from "vitest";
import { best, fit, nameParts } from "./matching";

const NAMES = ["use::editing", "works-with::editor", "interface::text-mode", "game", "made-of::credit", "role::program"];
const tags = NAMES.map((name) => ({ name }));
const names = (typed: string, limit = 12) => best(tags, typed, limit).map((tag) => tag.name);

describe("nameParts", () => {
  it("parts a facet from the rest", () => {
    expect(nameParts("use::editing")).toEqual({ facet: "use", rest: "editing" });
    expect(nameParts("editing")).toEqual({ facet: "", rest: "editing" });
    expect(nameParts("::odd")).toEqual({ facet: "", rest: "::odd" });
  });
});

describe("best", () => {
  it("finds anywhere in the name, beginnings first", () => {
    expect(names("edit")).toEqual(["use::editing", "works-with::editor", "made-of::credit"]);
  });
  it("takes several words in any order", () => {
    expect(names("edit use")).toEqual(["use::editing"]);
  });
  it("puts the very name first, whatever the case", () => {
    expect(names("GAME")[0]).toBe("game");
    expect(fit("role::program", "program")).toBe(0);
  });
  it("keeps the given order when nothing is typed, up to the limit", () => {
    expect(names("", 2)).toEqual(["use::editing", "works-with::editor"]);
  });
  it("finds nothing where nothing fits", () => {
    expect(names("zzz")).toEqual([]);
  });
});
