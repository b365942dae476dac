import { expect, it } from "vitest";
import { withLinks, withMarks } from "./marks";

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

it("marks parts of words where these are looked for", () => {
  expect(withMarks("Realigned", ["align"], false).filter(({ mark }) => mark)).toEqual([{ part: "align", mark: true }]);
});

it("makes links of addresses of the web alone, without what ends the sentence", () => {
  const text = "See https://a.example/x_(y)?q=1, or (http://b.example). javascript:alert(1) ftp://c";
  expect(withLinks(text, []).filter(({ href }) => href)).toEqual([
    { part: "https://a.example/x_(y)?q=1", mark: false, href: "https://a.example/x_(y)?q=1" },
    { part: "http://b.example", mark: false, href: "http://b.example" },
  ]);
  expect(withLinks(text, ["example"]).map(({ part }) => part).join("")).toBe(text);
});

it("marks nothing without terms", () => {
  expect(withMarks("text", [])).toEqual([{ part: "text", mark: false }]);
});
