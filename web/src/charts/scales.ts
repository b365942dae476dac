/** Round numbers and dates for axes, and how numbers are written. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Distances between ticks of time that people find natural. */
const STEPS = [
  SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY,
];

/** Whole, round numbers from at most `low` to at least `high`, about `wanted` of them. */
export function ticks(low: number, high: number, wanted = 4): number[] {
  const rough = Math.max(high - low, 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough)!);
  const marks: number[] = [];
  for (let mark = Math.floor(low / step) * step; mark < high + step; mark += step) marks.push(mark);
  return marks;
}

/** Times between two moments at natural distances, in local time, at most `most` of them. */
export function timeTicks(from: number, to: number, most = 6): number[] {
  const years = Math.ceil((to - from) / (365 * DAY * most));
  const step = STEPS.find((size) => (to - from) / size <= most) ?? 365 * DAY * years;
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  const marks: number[] = [];
  for (let mark = Math.ceil((from - offset) / step) * step + offset; mark <= to; mark += step) marks.push(mark);
  return marks;
}

/** A moment, as precisely as an axis of this length needs it. */
export function timeLabel(at: number, length: number): string {
  const date = new Date(at);
  if (length < 10 * MINUTE) return date.toLocaleTimeString("en-GB");
  if (length < DAY) return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (length < 5 * DAY) {
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    return `${day} ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
  }
  if (length < 300 * DAY) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return date.toLocaleDateString("en-GB", { month: "short", year: "numeric" });
}
