/** How many tags fit into a line, by the letters of their names: none of them is cut off. */

/** Pixels of a letter, of what is around a name, and of "and 12 more". */
const LETTER = 6.8;
const AROUND = 27;
const MORE = 62;

/** Of tags with so many letters each, those that fit; one that is too long alone is shortened. */
export function fitting(letters: readonly number[], room: number): number {
  let used = 0;
  for (const [place, count] of letters.entries()) {
    used += count * LETTER + AROUND;
    if (used + (place < letters.length - 1 ? MORE : 0) > room) return Math.max(1, place);
  }
  return letters.length;
}
