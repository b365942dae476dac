import { describe, expect, it } from "vitest";
import type { ColumnMapping } from "../lib/types";
import { batches, described, missing, pathOf, readable, readableSize, uses, wrongWith } from "./files";

const mapping: ColumnMapping = {
  id: "package",
  title: "package",
  text: ["summary"],
  numeric: [],
  tagColumn: null,
  separator: null,
};

describe("files", () => {
  it("takes tables, packed or not", () => {
    for (const name of ["a.csv", "a.CSV", "b.tsv.gz", "c.jsonl", "d.parquet", "my.items.csv.gz", "e.xlsx", "f.zip", "g.JPG"]) {
      expect(wrongWith({ name, size: 9 })).toBe("");
    }
  });
  it("explains what to do with others", () => {
    expect(wrongWith({ name: "table.xls", size: 9 })).toContain("Save it as .xlsx");
    expect(wrongWith({ name: "vectors.npy", size: 9 })).not.toBe("");
    expect(wrongWith({ name: "vectors.npy", size: 9 }, "vectors")).toBe("");
    expect(wrongWith({ name: "nothing.csv", size: 0 })).toContain("empty");
    expect(wrongWith({ name: "huge.csv", size: 3e8 })).toContain("Split it");
    expect(wrongWith({ name: "csv", size: 9 })).not.toBe("");
  });
  it("takes what can be read out of a folder, by its path", () => {
    const files = ["d/a.png", "d/.hidden/b.png", "d/c.doc", "d/e/f.txt"].map((path) => ({
      name: path.split("/").at(-1)!,
      size: 1,
      webkitRelativePath: path,
    }));
    expect(readable(files).map(pathOf)).toEqual(["d/a.png", "d/e/f.txt"]);
  });
  it("sends many files in groups", () => {
    const files = Array.from({ length: 450 }, (_, n) => ({ name: `${n}.png`, size: 10 }));
    expect(batches(files).map((group) => group.length)).toEqual([200, 200, 50]);
    const large = [5e7, 5e7, 1].map((size) => ({ name: "a", size }));
    expect(batches(large).map((group) => group.length)).toEqual([1, 2]);
    expect(batches([])).toEqual([]);
  });
  it("writes sizes", () => {
    expect(readableSize(12)).toBe("12 bytes");
    expect(readableSize(12_345)).toBe("12 kB");
    expect(readableSize(1_234_567)).toBe("1.2 MB");
    expect(described([{ name: "a", size: 1 }, { name: "b", size: 2 }])).toBe("2 files · 3 bytes");
  });
});

describe("columns", () => {
  it("needs a name and a text", () => {
    expect(missing(mapping)).toBe("");
    expect(missing({ ...mapping, id: null })).toContain("names each item");
    expect(missing({ ...mapping, text: [] })).toContain("text");
    expect(missing({ ...mapping, text: [] }, false)).toBe("");
    expect(missing({ ...mapping, text: [], numeric: ["size"] })).toBe("");
  });
  it("lists what a column is used for", () => {
    expect(uses("package", mapping)).toEqual(["name", "title"]);
    expect(uses("other", mapping)).toEqual([]);
  });
});
