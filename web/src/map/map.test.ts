import { describe, expect, it } from "vitest";
import { pan, toScreen, toWorld, wholeView, zoomAt } from "./camera";
import { byCount, byScore, byTop, legend, UNKNOWN } from "./painting";
import { PointGrid } from "./pointGrid";
import { CORNERS, triangle } from "./ternary";

const SIZE = { width: 800, height: 600 };

describe("camera", () => {
  it("goes to the screen and back", () => {
    const camera = { x: 0.2, y: -0.3, zoom: 3 };
    const [left, top] = toScreen(camera, SIZE, 0.5, 0.25);
    const [x, y] = toWorld(camera, SIZE, left, top);
    expect(x).toBeCloseTo(0.5);
    expect(y).toBeCloseTo(0.25);
  });
  it("keeps what is under the pointer when it comes nearer", () => {
    const before = toWorld(wholeView(), SIZE, 500, 200);
    const after = toWorld(zoomAt(wholeView(), SIZE, 4, 500, 200), SIZE, 500, 200);
    expect(after[0]).toBeCloseTo(before[0]);
    expect(after[1]).toBeCloseTo(before[1]);
  });
  it("moves with the pointer, and never loses the world", () => {
    const [left] = toScreen(pan(wholeView(), SIZE, 30, 0), SIZE, 0, 0);
    expect(left).toBeCloseTo(430);
    expect(Math.abs(pan(wholeView(), SIZE, 1e6, 1e6).x)).toBeLessThan(1.5);
  });
});

describe("places", () => {
  let seed = 7;
  const random = () => ((seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647) * 2 - 1;
  const positions = Float32Array.from({ length: 2 * 3000 }, random);
  const points = Uint32Array.from({ length: 2900 }, (_, point) => point);
  const places = new PointGrid(positions, points);

  it("finds the same nearest point as looking at all", () => {
    for (let trial = 0; trial < 200; trial++) {
      const [x, y, radius] = [random(), random(), 0.05];
      let best: number | null = null;
      let least = radius;
      for (const point of points) {
        const distance = Math.hypot(positions[2 * point]! - x, positions[2 * point + 1]! - y);
        if (distance <= least) [best, least] = [point, distance];
      }
      expect(places.nearest(x, y, radius)).toBe(best);
    }
  });
  it("finds all points within a line", () => {
    const square: [number, number][] = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
    const expected = [...points].filter(
      (point) => Math.abs(positions[2 * point]!) < 0.5 && Math.abs(positions[2 * point + 1]!) < 0.5,
    );
    expect(places.within(square)).toEqual(expected);
    expect(places.within(square.slice(0, 2))).toEqual([]);
  });
});

describe("painting", () => {
  const tops = Uint16Array.from([3, 3, 3, 5, 5, 9, UNKNOWN]);

  it("lists the most frequent tags and counts the rest", () => {
    const { entries, others, unknown } = legend(tops, []);
    expect(entries.map((entry) => [entry.tag, entry.count])).toEqual([[3, 3], [5, 2], [9, 1]]);
    expect([others, unknown]).toEqual([0, 1]);
  });
  it("lets a tag keep its colour when others overtake it", () => {
    const { entries } = legend(tops, [{ tag: 5, slot: 0, count: 9 }, { tag: 70, slot: 1, count: 5 }]);
    expect(entries.find((entry) => entry.tag === 5)!.slot).toBe(0);
    expect(new Set(entries.map((entry) => entry.slot)).size).toBe(entries.length);
  });
  it("gives a tag the same colour after a reload, whatever its rank has become", () => {
    const colours = (tops: number[]) =>
      new Map(legend(Uint16Array.from(tops), []).entries.map((entry) => [entry.tag, entry.slot]));
    expect([...colours([3, 3, 11, 5]).keys()]).toEqual([3, 5, 11]);
    for (const tops of [[3, 11, 11, 5], [5, 5, 5, 3, 11, 11]]) {
      for (const [tag, slot] of colours([3, 3, 11, 5])) expect(colours(tops).get(tag)).toBe(slot);
    }
  });
  it("draws every item once, grey ones below", () => {
    const { order, colours } = byTop(tops, legend(tops, []).entries, null, false);
    expect([...order].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(order[0]).toBe(6);
    expect(colours[3]).toBeGreaterThan(colours[4 * 6 + 3]!);
  });
  it("draws the largest scores last", () => {
    expect([...byScore(Float32Array.from([0.9, 0.1, Number.NaN, 0.5]), true).order]).toEqual([2, 1, 3, 0]);
  });
});

describe("triangle", () => {
  const SHARES = Float32Array.from([1, 0, 0, 0, 0.5, 0, 0.01, 0.02, 0, 0.2, 0.2, 0.2]);

  it("puts items near the corner they belong to, and leaves out those that belong elsewhere", () => {
    const { positions, order, leftOut } = triangle(SHARES, false);
    expect([...order]).toEqual([0, 1, 3]);
    expect(leftOut).toBe(1);
    const distance = (item: number, [x, y]: readonly [number, number]) =>
      Math.hypot(positions[2 * item]! - x, positions[2 * item + 1]! - y);
    expect(distance(0, CORNERS[0]!)).toBeLessThan(0.04);
    expect(distance(1, CORNERS[1]!)).toBeLessThan(0.04);
    expect(distance(3, [0, (0.85 - 2 * 0.709) / 3])).toBeLessThan(0.04);
  });
});

describe("numbers of tags", () => {
  it("spread over the colours, whatever a few items have", () => {
    const counts = Uint16Array.from({ length: 200 }, (_, row) => row % 9);
    counts[7] = 500;
    const { values, ends } = byCount(counts);
    expect(ends).toEqual(["0", "4", "8 or more"]);
    expect([values[0], values[4], values[8], values[7]]).toEqual([0, 0.5, 1, 1]);
  });

  it("are none, or all the same", () => {
    expect(byCount(new Uint16Array(3)).ends).toEqual(["0", "1"]);
    expect(byCount(Uint16Array.of(3, 3)).ends).toEqual(["0", "3"]);
  });
});
