/** Every request the Studio makes, in one place. Errors are `Refused`, with a sentence for people. */

import type {
  Assignment, Change, Detail, Imported, List, Mapping, Moment, Preview, Query, Row, State, Stored, Tag, TagPage,
  Word,
} from "./types";

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function ask(path: string, init?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new Refused("The Studio does not answer. Is it still running?", 0);
  }
  if (answer.ok) return answer;
  let message = `The Studio answered ${answer.status}.`;
  try {
    const told = (await answer.json()) as { error?: string };
    if (told.error) message = told.error;
  } catch {
    // not JSON: the number must do
  }
  throw new Refused(message, answer.status);
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, { signal })).json()) as T;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await (await ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json()) as T;
}

async function numbers(path: string): Promise<ArrayBuffer> {
  return (await ask(path)).arrayBuffer();
}

export const state = () => get<State>("/api/state");
export const tags = () => get<Tag[]>("/api/tags");

export function list(query: Query, signal?: AbortSignal): Promise<List> {
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") asked.set(key, `${value}`);
  return get<List>(`/api/list?${asked}`, signal);
}

/** Up to 200 rows. */
export const rows = (wanted: number[]) => get<Row[]>(`/api/rows?rows=${wanted.join(",")}`);
export const item = (row: number, signal?: AbortSignal) => get<Detail>(`/api/items/${row}`, signal);
/** The assignment if these were the words on the item; tags not named keep theirs. */
export const whatIf = (row: number, words: Record<number, -1 | 0 | 1>) =>
  post<Assignment>(`/api/items/${row}/what-if`, { words });
export const picture = (row: number) => `/api/items/${row}/picture`;

/** Says words; rows and tags by number. It is on the disk when this returns. */
export const say = (words: Word[], who: string) => post<Stored>("/api/words", { words, who });
/** Undoes the last action of this person. */
export const undo = (who: string) => post<Stored>("/api/undo", { who });
export const redo = (who: string) => post<Stored>("/api/redo", { who });
export const history = (limit = 100) => get<Change[]>(`/api/history?limit=${limit}`);
export const progress = () => get<Moment[]>("/api/progress");

export const tagPage = (tag: number) => get<TagPage>(`/api/tags/${tag}`);
export const addTag = (name: string, who: string) => post<Stored & { tag: number }>("/api/tags", { name, who });
export const renameTag = (tag: number, name: string, who: string) =>
  post<Stored>(`/api/tags/${tag}/rename`, { name, who });
export const mergeTag = (tag: number, into: number, who: string) =>
  post<Stored>(`/api/tags/${tag}/merge`, { into, who });

/** x, y of every item, one after the other, within -1 to 1. */
export const map = async () => new Float32Array(await numbers("/api/map"));
/** The top tag of every item; 65535 where nothing is known. */
export const tops = async () => new Uint16Array(await numbers("/api/map/tops"));
/** The score of one tag, for every item. */
export const scores = async (tag: number) => new Float32Array(await numbers(`/api/map/scores?tag=${tag}`));
/** Shares of three tags, three numbers an item. */
export const simplex = async (three: [number, number, number]) =>
  new Float32Array(await numbers(`/api/map/simplex?tags=${three.join(",")}`));

/** Learns everything anew, in the background; events tell how far it is. */
export const fit = () => post<{ started: boolean }>("/api/fit", {});

/** Uploads a table of items, and perhaps one of tags, and tells what is in it. Nothing is made yet. */
export async function preview(items: File, tagsFile: File | null): Promise<Preview> {
  const body = new FormData();
  body.append("items", items);
  if (tagsFile) body.append("tags", tagsFile);
  return (await (await ask("/api/import/preview", { method: "POST", body })).json()) as Preview;
}
/** Makes the collection, or adds to the one that is open. */
export const importFiles = (upload: string, mapping: Mapping, skipBad: boolean, who: string) =>
  post<Imported>("/api/import", { upload, mapping, skipBad, who });

export const exportUrl = (what: "words" | "assignments" | "suggestions", format: "csv" | "jsonl") =>
  `/api/export?what=${what}&format=${format}`;
export const reportUrl = "/api/report";
