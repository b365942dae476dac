/** Which files can be taken, and what is wrong with a choice of columns. */

import type { ColumnMapping } from "../lib/types";

export type Part = "items" | "tags" | "vectors" | "edges";

const PACKABLE = ["csv", "tsv", "tab", "json", "jsonl", "ndjson"];
const TABLES = [...PACKABLE, "parquet", "pq", "xlsx", "xlsm"];
const LOOSE = ["txt", "md", "png", "jpg", "jpeg", "webp", "gif", "bmp"];
const ENDINGS: Record<Part, string[]> = {
  items: [...TABLES, "zip", ...LOOSE],
  tags: TABLES,
  vectors: [...TABLES, "npy", "npz", "mat", "feather", "arrow", "ipc"],
  edges: TABLES,
};
/** The server takes no more in one piece. */
const MOST = 256 * 2 ** 20;
/** Files and bytes that are sent together. */
const TOGETHER = { files: 200, bytes: 64 * 2 ** 20 };

export const accept = (part: Part) =>
  ENDINGS[part].flatMap((ending) => (PACKABLE.includes(ending) ? [`.${ending}`, `.${ending}.gz`] : [`.${ending}`])).join(
    ",",
  ) + ",.gz";

interface Named {
  name: string;
  size: number;
  webkitRelativePath?: string;
}

/** The path within the folder that was chosen, or the name of a single file. */
export const pathOf = (file: Named) => file.webkitRelativePath || file.name;

function endingOf(file: Named): string {
  const plain = file.name.toLowerCase().replace(/\.gz$/, "");
  return plain.includes(".") ? plain.split(".").at(-1)! : "";
}

/** Why this file cannot be taken, with what to do; "" where it can. */
export function wrongWith(file: Named, part: Part = "items"): string {
  if (!ENDINGS[part].includes(endingOf(file))) {
    return `“${file.name}” is not a table that can be read here. Save it as .xlsx, .csv, .tsv, .jsonl or .parquet.`;
  }
  if (file.size === 0) return `“${file.name}” is empty. Is it the right file?`;
  if (file.size > MOST) {
    return `“${file.name}” is larger than ${MOST / 2 ** 20} MB. Split it, or use lass init or lass add.`;
  }
  return "";
}

/** The files of a folder that can be read: hidden ones, and others, are left out. */
export const readable = <T extends Named>(files: T[]) =>
  files.filter(
    (file) => LOOSE.includes(endingOf(file)) && !pathOf(file).split("/").some((part) => part.startsWith(".")),
  );

/** Files in groups that are sent together. */
export function batches<T extends Named>(files: T[]): T[][] {
  const found: T[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    const last = found.at(-1);
    bytes += file.size;
    if (last && last.length < TOGETHER.files && bytes <= TOGETHER.bytes) last.push(file);
    else {
      found.push([file]);
      bytes = file.size;
    }
  }
  return found;
}

export function readableSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Some files, briefly. */
export function described(files: Named[]): string {
  const size = readableSize(files.reduce((sum, file) => sum + file.size, 0));
  return files.length === 1 ? `${files[0]!.name} · ${size}` : `${files.length.toLocaleString("en")} files · ${size}`;
}

/** What prevents an import, for people; "" where nothing does. */
export function missing(mapping: ColumnMapping, needsText = true): string {
  if (!mapping.id) return "Choose the column that names each item.";
  if (needsText && !mapping.text.length && !mapping.numeric.length) {
    return "Choose at least one column of text: items are compared by it.";
  }
  return "";
}

/** What a column is used for. */
export function uses(column: string, mapping: ColumnMapping): string[] {
  const found: string[] = [];
  if (mapping.id === column) found.push("name");
  if (mapping.title === column) found.push("title");
  if (mapping.text.includes(column)) found.push("text");
  if (mapping.numeric.includes(column)) found.push("number");
  if (mapping.tagColumn === column) found.push("tags");
  return found;
}

const REMEMBERED = "lass-import-columns";
const MOST_REMEMBERED = 20;
const keyOf = (columns: string[]) => JSON.stringify(columns.toSorted());

function remembered(): Record<string, ColumnMapping> {
  try {
    return JSON.parse(localStorage.getItem(REMEMBERED) ?? "{}") as Record<string, ColumnMapping>;
  } catch {
    return {};
  }
}

/** How a table with these columns was read the last time. */
export const recall = (columns: string[]): ColumnMapping | undefined => remembered()[keyOf(columns)];

/** Keeps how a table was read, for the next with the same columns. */
export function remember(columns: string[], mapping: ColumnMapping): void {
  const { [keyOf(columns)]: _, ...others } = remembered();
  const kept = Object.entries(others).slice(1 - MOST_REMEMBERED);
  try {
    localStorage.setItem(REMEMBERED, JSON.stringify(Object.fromEntries([...kept, [keyOf(columns), mapping]])));
  } catch {
    // no room, or not allowed: nothing is lost by it
  }
}
