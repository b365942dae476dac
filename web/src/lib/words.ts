/** What a word does to a row, known before the server answers. */

import type { Row, Word } from "./types";

/** The row as it will be once the word is said, in the order the server uses, so that nothing moves later. */
export function withWord(row: Row, word: Word): Row {
  const stated = row.stated.filter((other) => other.tag !== word.tag);
  if (word.value !== 0) stated.push({ tag: word.tag, value: word.value });
  stated.sort((a, b) => b.value - a.value || a.tag - b.tag);
  return {
    ...row,
    stated,
    suggested: row.suggested.filter((suggested) => suggested.tag !== word.tag),
    doubted: row.doubted.filter((tag) => tag !== word.tag),
  };
}

/** What is said of a tag on this row. */
export const valueOf = (row: Row | undefined, tag: number): -1 | 0 | 1 =>
  row?.stated.find((stated) => stated.tag === tag)?.value ?? 0;
