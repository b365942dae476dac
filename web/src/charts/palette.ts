/** Colours of data: categories that most colour-blind people can tell apart, and a scale from little to much. */

export type Colour = [red: number, green: number, blue: number];

/** Categories on light and on dark paper, in the same order and of the same hues. */
const LIGHT = [
  "#0077bb", "#ee7733", "#117733", "#aa3377", "#44aa99", "#cc3311",
  "#ccaa22", "#332288", "#55bbdd", "#888822", "#ee99aa", "#664422",
];
const DARK = [
  "#4f9fe0", "#f28b4f", "#3fae6a", "#d36bb0", "#5fd0bd", "#ff6b5b",
  "#e3d27a", "#9189ee", "#8fe0ff", "#b5b54a", "#ffb3c1", "#b98a5e",
];
/** Everything that has no colour of its own. */
const OTHERS = { light: "#c3c0ba", dark: "#4b515a" };
const SCALE = {
  light: ["#dedad3", "#a9c8e6", "#3f86c4", "#0f3d70"],
  dark: ["#33383f", "#345a80", "#6aa9e4", "#eaf4ff"],
};

export const CATEGORIES = LIGHT.length;
export const categoryColours = (dark: boolean): readonly string[] => (dark ? DARK : LIGHT);
export const othersColour = (dark: boolean): string => OTHERS[dark ? "dark" : "light"];
export const scaleColours = (dark: boolean): readonly string[] => SCALE[dark ? "dark" : "light"];

/** "#rrggbb" as numbers from 0 to 255. */
export function parse(hex: string): Colour {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colour at `where` (0 to 1) of a scale given by colours at equal distances. */
export function along(colours: readonly Colour[], where: number): Colour {
  const place = Math.min(1, Math.max(0, Number.isFinite(where) ? where : 0)) * (colours.length - 1);
  const first = Math.min(Math.floor(place), colours.length - 2);
  const [from, to] = [colours[first]!, colours[first + 1]!];
  const mix = (channel: 0 | 1 | 2) => Math.round(from[channel] + (to[channel] - from[channel]) * (place - first));
  return [mix(0), mix(1), mix(2)];
}
