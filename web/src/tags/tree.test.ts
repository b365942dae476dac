import { describe, expect, it } from "vitest";
import type { Tag } from "../lib/types";
import { arrange, type Wish } from "./tree";

const tag = (number: number, name: string, is: number, predicted: number, retired = false): Tag => ({
  tag: number, name, synonyms: [], is, isNot: 0, predicted, total: 0, retired,
});
const TAGS = [
  tag(0, "use::editing", 10, 5),
  tag(1, "use::gaming", 2, 8),
  tag(2, "role::program", 40, 20),
  tag(3, "plain", 1, 0),
  tag(4, "use::old", 9, 9, true),
];
const PLAIN: Wish = { typed: "", sort: "name", byFacet: false, folded: new Set() };
const wish = (change: Partial<Wish>): Wish => ({ ...PLAIN, ...change });
const shown = (change: Partial<Wish>) =>
  arrange(TAGS, wish(change)).map((row) => (row.kind === "tag" ? row.tag.name : `[${row.facet}]`));

describe("arrange", () => {
  it("sorts plain lists and leaves out what is retired", () => {
    expect(shown({})).toEqual(["plain", "role::program", "use::editing", "use::gaming"]);
    expect(shown({ sort: "annotated" })[0]).toBe("role::program");
    expect(shown({ sort: "ratio" })[0]).toBe("use::gaming");
  });
  it("groups by facet, with sums", () => {
    const expected = ["[]", "plain", "[role]", "role::program", "[use]", "use::editing", "use::gaming"];
    expect(shown({ byFacet: true })).toEqual(expected);
    const use = arrange(TAGS, wish({ byFacet: true })).find((row) => row.kind === "facet" && row.facet === "use");
    expect(use).toMatchObject({ tags: 2, is: 12, predicted: 13 });
  });
  it("folds facets, but never hides what was searched for", () => {
    const folded = new Set(["use"]);
    expect(shown({ byFacet: true, folded })).not.toContain("use::editing");
    expect(shown({ byFacet: true, folded, typed: "edit" })).toEqual(["[use]", "use::editing"]);
  });
});
