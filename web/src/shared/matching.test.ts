import { describe, expect, it } from "vitest";
import { byFacet, facetOf, best, distance, fit, nameParts } from "./matching";

const NAMES = ["use::editing", "works-with::editor", "interface::text-mode", "game", "made-of::credit", "role::program"];
const tags = NAMES.map((name) => ({ name }));
const names = (typed: string, limit = 12) => best(tags, typed, limit).map(({ tag }) => tag.name);

describe("nameParts", () => {
  it("groups by what comes before :: or /", () => {
    expect(["use::editing", "music/rock/indie", "editing", "::odd", "/odd"].map(facetOf)).toEqual(["use", "music", "", "", ""]);
    const tags = ["use::web", "mood/calm", "red", "use::mail", "mood/wild", "blue"];
    expect(byFacet(tags, (name) => name)).toEqual(["blue", "red", "mood/calm", "mood/wild", "use::mail", "use::web"]);
  });

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
  it("finds nothing where nothing fits or is near", () => {
    expect(names("zzz")).toEqual([]);
    expect(names("zzzzzzz")).toEqual([]);
  });
  it("offers near names where one is misspelt, whole or as far as it is typed", () => {
    expect(names("gmae")).toEqual(["game"]);
    expect(names("editign")).toEqual(["use::editing"]);
    expect(names("interfcae::te")).toEqual(["interface::text-mode"]);
    expect(best(tags, "gmae", 5)[0]).toMatchObject({ near: true, synonym: null });
  });
  it("finds tags by names that they had", () => {
    const renamed = [...tags, { name: "use::revision", synonyms: ["use::versioning"] }];
    expect(best(renamed, "version", 5)).toEqual([
      { tag: renamed.at(-1), rank: 5, synonym: "use::versioning", near: false },
    ]);
    expect(best(renamed, "versoining", 5)[0]).toMatchObject({ near: true, synonym: "use::versioning" });
  });
});

describe("distance", () => {
  it("counts letters missing, added, other or swapped, and lets the end be missing", () => {
    expect(distance("mail", "mail", 2)).toBe(0);
    expect(distance("mial", "mail", 2)).toBe(1);
    expect(distance("mal", "mail", 2)).toBe(1);
    expect(distance("maill", "mail", 2)).toBe(1);
    expect(distance("interf", "interface", 2)).toBe(0);
    expect(distance("zzzz", "mail", 2)).toBe(3);
  });
});
