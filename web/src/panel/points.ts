/** A score as a sum, in numbers that add up to the one that is shown. */

export interface Sum {
  /** sources and what each adds, in per cent: the start first, then the largest first; none is zero */
  lines: [source: string, adds: number][];
  total: number;
  /** after the point: one near the ends, where whole numbers would say 0 or 100 */
  digits: 0 | 1;
}

/** Shares of the score, the start first, rounded so that they add up: each to one of its two neighbours, the largest rests upwards. */
export function rounded(points: Readonly<Record<string, number>>, score: number): Sum {
  const digits = score < 0.01 || score > 0.99 ? 1 : 0;
  const unit = digits ? 1000 : 100;
  const total = Math.round(unit * score);
  const exact = Object.entries(points).map(([source, share]) => ({ source, floor: Math.floor(unit * share), exact: unit * share }));
  let left = total - exact.reduce((sum, one) => sum + one.floor, 0);
  for (const one of exact.toSorted((a, b) => b.exact - b.floor - (a.exact - a.floor))) {
    if (left-- <= 0) break;
    one.floor += 1;
  }
  const added = exact.slice(1).filter(({ floor }) => floor !== 0);
  const lines = [...exact.slice(0, 1), ...added.toSorted((a, b) => Math.abs(b.floor) - Math.abs(a.floor))].map(
    ({ source, floor }): [string, number] => [source, (100 * floor) / unit],
  );
  return { lines, total: (100 * total) / unit, digits };
}
