import { expect, it } from "vitest";
import { colourOf, initials } from "./people";

it("gives each of ten people a colour of their own, and newcomers the next", () => {
  const people = Array.from({ length: 10 }, (_, colour) => ({ name: `p${colour}`, colour }));
  expect(new Set(people.map(({ name }) => colourOf(name, people))).size).toBe(10);
  expect(colourOf("new", people.slice(0, 3))).toBe(colourOf("p3", people));
});

it("shortens names to letters", () => {
  expect(["ann", "Ada Lovelace", "j.s.bach", "é"].map(initials)).toEqual(["AN", "AL", "JB", "É"]);
});
