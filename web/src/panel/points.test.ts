import { expect, it } from "vitest";
import { rounded } from "./points";

const tenths = (value: number) => Math.round(10 * value);

it("adds up to the score that is shown, whatever the parts", () => {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let round = 0; round < 500; round++) {
    const score = [random(), 0.999, 0.0012, 1, 0][round % 5]!;
    const parts = Array.from({ length: 4 }, () => 2 * random() - 1);
    const start = score - parts.reduce((sum, part) => sum + part, 0);
    const [a, b, c, d] = parts as [number, number, number, number];
    const { lines, total } = rounded({ start, a, b, c, d }, score);
    expect(lines.reduce((sum, [, adds]) => sum + tenths(adds), 0)).toBe(tenths(total));
    expect(total).toBeCloseTo(100 * score, score > 0.99 || score < 0.01 ? 1 : 0);
    for (const [source, adds] of lines) {
      const exact = 100 * { start, a, b, c, d }[source]!;
      expect(Math.abs(adds - exact)).toBeLessThan(1 + 1e-9);
    }
  }
});

it("leaves out what adds nothing, and puts the start first", () => {
  const { lines } = rounded({ start: 0.02, similar: 0.1, content: 0.4, tags: 0.001, frequency: -0.051 }, 0.47);
  expect(lines.map(([source]) => source)).toEqual(["start", "content", "similar", "frequency"]);
});
