/** The falling gap of a solve, as a line on a logarithmic scale. */

/** Keeps the points of one solve, in which the gap only falls: one that rises belongs to the next. */
export function grown(gaps: readonly number[], gap: number): number[] {
  const last = gaps.at(-1);
  if (last === gap) return gaps as number[];
  if (last !== undefined && gap > last) return [gap];
  return [...gaps.slice(-79), gap];
}

/** Points of a polyline within a box; empty for fewer than two. */
export function line(gaps: readonly number[], width: number, height: number): string {
  if (gaps.length < 2) return "";
  const logs = gaps.map((gap) => Math.log10(Math.max(gap, 1e-12)));
  const top = Math.max(...logs);
  const range = Math.max(top - Math.min(...logs), 1e-9);
  return logs
    .map((log, place) => {
      const x = (place / (logs.length - 1)) * width;
      return `${x.toFixed(1)},${(((top - log) / range) * height).toFixed(1)}`;
    })
    .join(" ");
}
