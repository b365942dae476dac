import { expect, it } from "vitest";
import { read, written, type Place } from "./address";

it("comes back as it was written", () => {
  const places: Place[] = [
    { view: "items", item: null, tag: null, query: {} },
    { view: "items", item: 12, tag: null, query: { text: "a & b?#/", filter: "untagged", conditions: [{ tag: 3, sign: "suggested" }, { tag: 4, sign: "without" }], sort: "name", backwards: true } },
    { view: "map", item: 4, tag: null, query: {} },
    { view: "tags", item: 4, tag: 7, query: { filter: "next" } },
    { view: "review", item: null, tag: null, query: {} },
    { view: "review", item: null, tag: null, query: {}, review: "useful.untagged.12" },
    { view: "progress", item: null, tag: null, query: {} },
  ];
  for (const place of places) expect(read(written(place))).toEqual(place);
});

it("makes the best of what it does not know", () => {
  expect(read("")).toEqual({ view: "items", item: null, tag: null, query: {} });
  expect(read("#/nowhere/x?filter=odd&tag=-1&tag=3:odd&sort=up")).toEqual({ view: "items", item: null, tag: null, query: {} });
  expect(read("#/items/5?tag=2")).toMatchObject({ item: 5, query: { conditions: [{ tag: 2, sign: "is" }] } });
});
