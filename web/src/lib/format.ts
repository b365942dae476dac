/** Numbers and times as people read them. */

export const percent = (share: number): string => {
  // nothing is called certain, or impossible, that is not
  if (share > 0 && share < 0.01) return "<1 %";
  if (share < 1 && share > 0.99) return ">99 %";
  return `${Math.round(100 * share)} %`;
};

export const number = (value: number): string => value.toLocaleString("en");

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** A number with its sign; the real minus, which is as wide as the plus. */
export const signed = (number: number, digits = 2): string => {
  const size = Math.abs(number).toFixed(digits);
  if (Number(size) === 0) return size;
  return `${number < 0 ? "−" : "+"}${size}`;
};

/** The same with so many digits that it fits its column, whatever its size: 1.2e+7 when it is very large. */
export const fitted = (number: number, digits = 3): string => {
  if (!Number.isFinite(number)) return number < 0 ? "−∞" : "+∞";
  if (Math.abs(number) < 100) return signed(number, digits);
  if (Math.abs(number) < 10_000) return signed(number, 0);
  return `${number < 0 ? "−" : "+"}${Math.abs(number).toExponential(1).replace("e+", "e")}`;
};

/** A number in three digits, of any size. */
export const short = (number: number): string => {
  if (!Number.isFinite(number)) return number < 0 ? "−∞" : "∞";
  const size = Math.abs(number);
  if (size && (size < 1e-3 || size >= 1e5)) return number.toExponential(1).replace("e+", "e").replace("-", "−");
  return number.toLocaleString("en", { maximumSignificantDigits: 3 });
};

/** How long something still takes, about. */
export function left(seconds: number): string {
  if (seconds < 3) return "some seconds left";
  if (seconds < 60) return `about ${seconds < 20 ? Math.round(seconds) : 10 * Math.round(seconds / 10)} s left`;
  return `about ${plural(Math.round(seconds / 60), "minute")} left`;
}

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [7, "day"],
];

/** "5 minutes ago"; a date when that is more than a week. */
export function ago(at: string, now = Date.now()): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return at;
  let passed = (now - then) / 1000;
  if (passed < 10) return "just now";
  const format = new Intl.RelativeTimeFormat("en");
  for (const [length, unit] of STEPS) {
    if (passed < length) return format.format(-Math.round(passed), unit);
    passed /= length;
  }
  return new Date(then).toLocaleDateString("en", { dateStyle: "medium" });
}

/** Two times, in seconds: days, or hours and minutes where both are of one day; one where they are the same. */
export function between(from: number, to: number): string[] {
  const written = (options: Intl.DateTimeFormatOptions) =>
    [from, to].map((at) => new Date(1000 * at).toLocaleString("en", options));
  const days = written({ dateStyle: "medium" });
  const shown = days[0] === days[1] ? written({ timeStyle: "short", hourCycle: "h23" }) : days;
  return [...new Set(shown)];
}
