/** What a word does to a row, known before the server answers. */

import type { Row, Word } from "./types";

/** The row as it will be once the word is said. */
export function withWord(row: Row, word: Word): Row {
  const others = row.stated.filter((stated) => stated.tag !== word.tag);
  const there = row.stated.findIndex((stated) => stated.tag === word.tag);
  const stated = [...others];
  if (word.value !== 0)
    stated.splice(there < 0 ? others.length : there, 0, { tag: word.tag, value: word.value });
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
