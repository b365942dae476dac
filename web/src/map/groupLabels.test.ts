import { describe, expect, it } from "vitest";
import type { ItemGroup } from "../lib/types";
import { groupLabels, groupOfItems, withRoom } from "./groupLabels";

const group = (number: number, name: string, rows: number[]): ItemGroup => ({
  number, name, rows, terms: [name], tagged: 0,
});

describe("labels of groups", () => {
  const groups = [group(1, "mail", [0, 1, 2]), group(2, "chess", [3])];
  const positions = new Float32Array([0, 0, 0.5, 0.25, 1, -1, -1, -1]);

  it("lie at the median of the points", () => {
    const found = groupLabels(groups, positions);
    expect(found.map(({ x, y, place }) => [x, y, place])).toEqual([[0.5, 0, 0], [-1, -1, 1]]);
  });

  it("leave points out that are not on the map yet", () => {
    expect(groupLabels([group(1, "mail", [0, 99])], positions)[0]).toMatchObject({ x: 0, y: 0 });
  });

  it("give way to those of larger groups", () => {
    const near = groupLabels([group(1, "mail", [0]), group(2, "chess", [1])], positions);
    const size = { width: 1000, height: 700 };
    const found = withRoom(near, (x, y) => [10 * x + 500, 10 * y + 300], size);
    expect(found.map(({ group: { name } }) => name)).toEqual(["mail"]);
    expect(withRoom(near, (x, y) => [900 * x, 900 * y + 300], size)).toHaveLength(2);
  });

  it("stay on the screen, and clear of the tools", () => {
    const size = { width: 1000, height: 700 };
    const [one] = groupLabels([group(1, "a long name", [0])], positions);
    const at = (left: number, top: number) => withRoom([one!], () => [left, top], size)[0]?.left;
    expect(at(500, 300)).toBe(500);
    expect(at(5, 300)).toBeGreaterThan(50);
    expect(at(995, 300)).toBeLessThan(950);
    expect(at(200, 30)).toBeUndefined();
    expect(at(900, 30)).toBe(900);
  });

  it("colour items by their place", () => {
    expect([...groupOfItems(groups, 6)]).toEqual([0, 0, 0, 1, 65535, 65535]);
  });
});
