/** Every request the Studio makes, in one place. Errors are `Refused`, with a sentence for people. */

import { type Part, pathOf } from "../import/files";
import { type Query, writtenCondition } from "./query";
import { BASE, current } from "./token";
import type {
  AnnotationChange,
  ErrorMessage,
  paths,
  ReviewAbove,
  ReviewQuery,
  WhatIf,
} from "./types";

type Path = keyof paths;
/** What the server answers with JSON, and takes as JSON, by its own description. */
type Answer<P extends Path, Method extends "get" | "post"> = paths[P][Method] extends {
  responses: { 200: { content: { "application/json": infer Found } } };
}
  ? Found
  : never;
type Body<P extends Path> = paths[P]["post"] extends {
  requestBody: { content: { "application/json": infer Found } };
}
  ? Found
  : undefined;

interface Options {
  /** takes the place of {row} or {tag} in the path */
  index?: number;
  query?: Record<string, string | number | boolean | null | undefined | readonly string[]>;
  signal?: AbortSignal;
}

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

function url(path: Path, { index, query = {} }: Options = {}): string {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value instanceof Array) for (const one of value) values.append(key, one);
    else if ((value ?? "") !== "") values.set(key, `${value}`);
  }
  const filled = path.replace(/\{\w+\}/, `${index}`);
  return new URL(`.${filled}${values.size ? `?${values}` : ""}`, BASE).href;
}

/** Lets in where no header can be sent: pictures, downloads and events. It only reads. */
let key = "";
/** An address for the browser itself to ask for. */
const keyed = (path: Path, options: Options = {}): string => url(path, { ...options, query: { ...options.query, key } });

const NO_ANSWER = "The Studio does not answer. Is it still running?";

/** The answer to a request, read by `read`; one that breaks off halfway counts as none. */
async function ask<T>(address: string, read: (answer: Response) => Promise<T>, init?: RequestInit): Promise<T> {
  const unlessAborted = (error: unknown): never => {
    throw init?.signal?.aborted ? error : new Refused(NO_ANSWER, 0);
  };
  const headers = { ...init?.headers, Authorization: `Bearer ${current()}` };
  const answer = await fetch(address, { ...init, credentials: "omit", headers }).catch(unlessAborted);
  if (answer.ok) return read(answer).catch(unlessAborted);
  let message = `The Studio answered ${answer.status}.`;
  try {
    const { error } = (await answer.json()) as Partial<ErrorMessage>;
    if (error) message = error;
  } catch {
    // not JSON: the number must do
  }
  throw new Refused(message, answer.status);
}

const json = (answer: Response) => answer.json();

async function get<P extends Path>(path: P, options: Options = {}): Promise<Answer<P, "get">> {
  return ask(url(path, options), json, { signal: options.signal });
}

async function post<P extends Path>(path: P, body: Body<P>, options: Options = {}): Promise<Answer<P, "post">> {
  const headers = { "Content-Type": "application/json" };
  return ask(url(path, options), json, { method: "POST", headers, body: JSON.stringify(body) });
}

const numbers = (path: Path, query?: Options["query"]): Promise<ArrayBuffer> =>
  ask(url(path, { query }), (answer) => answer.arrayBuffer());

export async function state(): Promise<Answer<"/api/state", "get">> {
  const found = await get("/api/state");
  key = found.key;
  return found;
}
/** Where changes are announced. */
export const eventsUrl = (): string => keyed("/api/events");
export const tags = () => get("/api/tags");
export const list = ({ conditions = [], ...query }: Query, signal?: AbortSignal) =>
  get("/api/list", { query: { ...query, tag: conditions.map(writtenCondition) }, signal });
/** Up to 200 rows. */
export const rows = (wanted: number[]) => get("/api/rows", { query: { rows: wanted.join(",") } });
export const item = (row: number, signal?: AbortSignal) => get("/api/items/{row}", { index: row, signal });
/** Why an item probably has a tag that need not be among its first suggestions. */
export const why = (row: number, tag: number) => get("/api/items/{row}/why", { index: row, query: { tag } });
/** The model details if these were the annotations of the item; tags not named keep theirs. */
export const whatIf = (row: number, annotations: WhatIf["annotations"], facet: string | null) =>
  post("/api/items/{row}/what-if", { annotations, facet }, { index: row });
/** A copy of the picture of an item: small for lists, large to look at. */
export const thumbnail = (row: number, size: "small" | "large") =>
  keyed("/api/items/{row}/thumbnail", { index: row, query: { size } });

/** Stores annotations; rows and tags by number. They are on the disk when this returns. */
export const annotate = (annotations: AnnotationChange[], who: string) =>
  post("/api/annotations", { annotations, who });
/** Undoes the last action of this person, or that of one change. */
export const undo = (who: string, change: number | null = null) => post("/api/undo", { who, change });
export const redo = (who: string) => post("/api/redo", { who });
export const history = (limit = 100) => get("/api/history", { query: { limit } });
export const progress = () => get("/api/progress");

/** The next questions of the review. */
export const review = (query: ReviewQuery) => post("/api/review", query);
/** Suggestions from a score on, to be looked at before they are accepted together. */
export const reviewAbove = (query: ReviewAbove) => post("/api/review/above", query);
export const flag = (row: number, flagged: boolean, who: string) => post("/api/flag", { row, flagged, who });

export const tagPage = (tag: number) => get("/api/tags/{tag}", { index: tag });
export const addTag = (name: string, who: string) => post("/api/tags", { name, who });
export const renameTag = (tag: number, name: string, who: string) =>
  post("/api/tags/{tag}/rename", { name, who }, { index: tag });
export const mergeTag = (tag: number, into: number, who: string) =>
  post("/api/tags/{tag}/merge", { into, who }, { index: tag });
export const deleteTag = (tag: number, who: string) => post("/api/tags/{tag}/delete", { who }, { index: tag });

/** Gives a tag, which may be a new one, to many items in one action. */
export const tagItems = (rows: number[], name: string, who: string) => post("/api/tag-items", { rows, name, who });
/** The most frequent tags of some items. */
export const selection = (rows: number[]) => post("/api/selection", { rows });
/** Groups of similar items, the largest first. */
export const groups = () => get("/api/groups");
/** A name for some items, from their own texts. */
export const proposedName = (rows: number[]) => post("/api/proposed-name", { rows });

/** x, y of every item, one after the other, within -1 to 1. */
export const map = async () => new Float32Array(await numbers("/api/map"));
/** The top tag of every item; 65535 where there is none. */
export const tops = async () => new Uint16Array(await numbers("/api/map/tops"));
/** Names of what lies together, by cells of a grid of 2^level a side: columns and rows, from and to. */
export const mapNames = (level: number, cells: readonly number[]) =>
  get("/api/map/names", { query: { level, cells: cells.join(",") } });
/** How many tags every item has. */
export const tagCounts = async () => new Uint16Array(await numbers("/api/map/tag-counts"));
/** Who changed the annotations of items last, and when. */
export const mapChanges = () => get("/api/map/changes");
/** The score of one tag, for every item. */
export const scores = async (tag: number) => new Float32Array(await numbers("/api/map/scores", { tag }));
/** Shares of three tags, three numbers an item. */
export const simplex = async (three: [number, number, number]) =>
  new Float32Array(await numbers("/api/map/simplex", { tags: three.join(",") }));

/** Fits the model again from the start, in the background; events report its progress. */
export const retrain = () => post("/api/retrain", undefined);
/** Ends a training that is under way. */
export const cancelTraining = () => post("/api/retrain/cancel", undefined);

/** Uploads some files, in a new upload or with others; the name of the upload. Nothing is imported yet. */
export async function uploadFiles(files: File[], part: Part, upload: string | null): Promise<string> {
  const body = new FormData();
  body.append("part", part);
  if (upload) body.append("upload", upload);
  for (const file of files) body.append("files", file, pathOf(file));
  const answer: Answer<"/api/import/files", "post"> = await ask(url("/api/import/files"), json, {
    method: "POST",
    body,
  });
  return answer.upload;
}
/** What would become of uploaded files. */
export const lookAtFiles = (asked: Body<"/api/import/look">) => post("/api/import/look", asked);
/** Makes the collection, or adds to the one that is open. */
export const importFiles = (asked: Body<"/api/import">) => post("/api/import", asked);

type Export = Required<NonNullable<paths["/api/export"]["get"]["parameters"]["query"]>>;
export const exportUrl = (what: Export["what"], format: Export["format"], raw: boolean) =>
  keyed("/api/export", { query: { what, format, raw: raw ? "true" : null } });
export const reportUrl = (): string => keyed("/api/report");
