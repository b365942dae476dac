import { describe, expect, it } from "vitest";
import type { ColumnMapping } from "../lib/types";
import { missing, readableSize, uses, wrongWith } from "./files";

const mapping: ColumnMapping = { id: "package", title: "package", text: ["summary"], tagColumn: null, separator: null };

describe("files", () => {
  it("takes tables, packed or not", () => {
    for (const name of ["a.csv", "a.CSV", "b.tsv.gz", "c.jsonl", "d.parquet", "my.items.csv.gz"]) {
      expect(wrongWith({ name, size: 9 })).toBe("");
    }
  });
  it("explains what to do with others", () => {
    expect(wrongWith({ name: "table.xlsx", size: 9 })).toContain("Save it as .csv");
    expect(wrongWith({ name: "nothing.csv", size: 0 })).toContain("empty");
    expect(wrongWith({ name: "huge.csv", size: 3e8 })).toContain("Split it");
    expect(wrongWith({ name: "csv", size: 9 })).not.toBe("");
  });
  it("writes sizes", () => {
    expect(readableSize(12)).toBe("12 bytes");
    expect(readableSize(12_345)).toBe("12 kB");
    expect(readableSize(1_234_567)).toBe("1.2 MB");
  });
});

describe("columns", () => {
  it("needs a name and a text", () => {
    expect(missing(mapping)).toBe("");
    expect(missing({ ...mapping, id: null })).toContain("names each item");
    expect(missing({ ...mapping, text: [] })).toContain("text");
  });
  it("lists what a column is used for", () => {
    expect(uses("package", mapping)).toEqual(["name", "title"]);
    expect(uses("other", mapping)).toEqual([]);
  });
});
