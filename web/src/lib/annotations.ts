/** What an annotation does to a row, known before the server answers. */

import type { AnnotationChange, ItemRow } from "./types";

export type Value = AnnotationChange["value"];

/** The row with a changed annotation, in the order the server uses, so that nothing moves later. */
export function withAnnotation(row: ItemRow, { tag, value }: AnnotationChange): ItemRow {
  const annotations = row.annotations.filter((other) => other.tag !== tag);
  if (value !== 0) annotations.push({ tag, value });
  annotations.sort((a, b) => b.value - a.value || a.tag - b.tag);
  return {
    ...row,
    annotations,
    suggestions: row.suggestions.filter((suggestion) => suggestion.tag !== tag),
    doubted: row.doubted.filter((other) => other !== tag),
  };
}

/** The annotation of a tag on this row; 0 where there is none. */
export const annotationOf = (row: ItemRow | undefined, tag: number): Value =>
  row?.annotations.find((annotation) => annotation.tag === tag)?.value ?? 0;
