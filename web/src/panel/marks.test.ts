import { expect, it } from "vitest";
import { withMarks } from "./marks";

const marked = (text: string, terms: string[]) =>
  withMarks(text, terms).filter(({ mark }) => mark).map(({ part }) => part);

it("marks whole terms in any case and keeps the text as it is", () => {
  const text = "Aligns DNA reads; realigns (dna+).";
  expect(marked(text, ["dna", "aligns"])).toEqual(["Aligns", "DNA", "dna"]);
  expect(withMarks(text, ["dna"]).map(({ part }) => part).join("")).toBe(text);
});

it("marks terms across lines, and takes signs literally", () => {
  expect(marked("command\n line, c++ and c", ["command line"])).toEqual(["command\n line"]);
  expect(marked("c++ (x)", ["(x", "c++"])).toEqual(["c++", "(x"]);
});

it("marks nothing without terms", () => {
  expect(withMarks("text", [])).toEqual([{ part: "text", mark: false }]);
});
