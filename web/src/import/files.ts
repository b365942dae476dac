/** Which files can be taken, and what is wrong with a choice of columns. */

import type { ColumnMapping } from "../lib/types";

const ENDINGS = ["csv", "tsv", "tab", "jsonl", "ndjson", "parquet", "pq"];
export const ACCEPT = ENDINGS.flatMap((ending) => [`.${ending}`, `.${ending}.gz`]).join(",") + ",.gz";
/** The server takes no more in one piece. */
const MOST = 256 * 2 ** 20;

/** Why this file cannot be taken, with what to do; "" where it can. */
export function wrongWith(file: { name: string; size: number }): string {
  const plain = file.name.toLowerCase().replace(/\.gz$/, "");
  const ending = plain.includes(".") ? plain.split(".").at(-1)! : "";
  if (!ENDINGS.includes(ending)) {
    return `“${file.name}” is not a table that can be read here. Save it as .csv, .tsv, .jsonl or .parquet.`;
  }
  if (file.size === 0) return `“${file.name}” is empty. Is it the right file?`;
  if (file.size > MOST) {
    return `“${file.name}” is larger than ${MOST / 2 ** 20} MB. Split it, or use lass init or lass add.`;
  }
  return "";
}

export function readableSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** What prevents an import, for people; "" where nothing does. */
export function missing(mapping: ColumnMapping): string {
  if (!mapping.id) return "Choose the column that names each item.";
  if (!mapping.text.length) return "Choose at least one column of text: items are compared by it.";
  return "";
}

/** What a column is used for. */
export function uses(column: string, mapping: ColumnMapping): string[] {
  const found: string[] = [];
  if (mapping.id === column) found.push("name");
  if (mapping.title === column) found.push("title");
  if (mapping.text.includes(column)) found.push("text");
  if (mapping.tagColumn === column) found.push("tags");
  return found;
}
