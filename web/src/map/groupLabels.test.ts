import { describe, expect, it } from "vitest";
import type { ItemGroup } from "../lib/types";
import { groupLabels, groupOfItems, picturesWithRoom, withRoom } from "./groupLabels";

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

  it("are left out where a group has a number alone beside others with names", () => {
    const [named, numbered] = [group(1, "mail", [0]), group(2, "group 2", [1])];
    const names = (...groups: ItemGroup[]) => groupLabels(groups, positions).map(({ name, place }) => [name, place]);
    expect(names(numbered, named)).toEqual([["mail", 1]]);
    expect(names(numbered)).toEqual([["group 2", 0]]);
  });

  it("and pictures lie on nothing else", () => {
    const size = { width: 1000, height: 700 };
    const at = (...places: [number, number][]) => places.map(([left, top]) => ({ left, top }));
    const found = (...args: Parameters<typeof picturesWithRoom>) =>
      picturesWithRoom(...args).map(({ left, top, lift }) => [left, top + lift]);
    expect(found(at([500, 300], [520, 310], [600, 300]), [], size)).toEqual([[500, 300], [600, 300]]);
    expect(found(at([100, 30], [900, 30]), [], size)).toEqual([[900, 30]]);
    const name = { left: 540, top: 310, half: 30 };
    expect(found(at([500, 310], [500, 360]), [name], size), "one is beside the name already").toEqual([[500, 360]]);
    const [[left, top]] = found(at([500, 310], [502, 312]), [name], size) as [[number, number]];
    expect([left, Math.abs(top - name.top)], "one moves out from under the name").toEqual([500, 35]);
  });

  it("colour items by their place", () => {
    expect([...groupOfItems(groups, 6)]).toEqual([0, 0, 0, 1, 65535, 65535]);
  });
});
