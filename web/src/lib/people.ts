/** Colours of people: by the order in which they began, so that everybody sees the same. */

/** Each readable under white text and beside the others, on light and dark pages. */
const COLOURS = [
  "#1f5fa8", "#a8431f", "#2b7a3d", "#7b3fa0", "#9b2c5a", "#00707a", "#6b5b00", "#4a4ab0", "#8a3b3b", "#50626e",
] as const;

export interface Person {
  name: string;
  colour: number;
}

/** The colour of a name; somebody who has not annotated yet gets the next one. */
export function colourOf(name: string, people: readonly Person[]): string {
  const place = people.find((person) => person.name === name)?.colour ?? people.length;
  return COLOURS[place % COLOURS.length]!;
}

/** One or two letters for a name. */
export function initials(name: string): string {
  const parts = name.split(/[\s._-]+/).filter(Boolean);
  const letters = parts.length > 1 ? [parts[0]!, parts.at(-1)!].map((part) => [...part][0]) : [...name].slice(0, 2);
  return letters.join("").toUpperCase();
}
