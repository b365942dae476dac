/** What the server sends and takes. Items are named by their row, tags by their column, people by a name. */

/** What somebody said: +1 "is", -1 "is not". */
export interface Stated {
  tag: number;
  value: 1 | -1;
}

/** A tag nobody spoke of yet: how likely it is, and its share of the item's assignment. */
export interface Suggested {
  tag: number;
  score: number;
  share: number;
}

/** An item as the list shows it. */
export interface Row {
  row: number;
  id: string;
  title: string;
  /** the beginning of its text, plain */
  snippet: string;
  stated: Stated[];
  /** the likeliest first, five at most */
  suggested: Suggested[];
  /** stated tags that everybody else speaks against */
  doubted: number[];
  picture: boolean;
}

export type Filter = "all" | "untagged" | "tagged" | "doubtful" | "changed" | "next";

/** What GET /api/list takes. */
export interface Query {
  text?: string;
  filter?: Filter;
  /** only items where this tag is stated or suggested */
  tag?: number;
  sign?: "is" | "is-not" | "suggested";
}

/** Rows in the order to show them; all of them, for 60,000 rows are 400 kB. */
export interface List {
  rows: number[];
  revision: number;
}

export interface Tag {
  tag: number;
  name: string;
  /** how many items are said to have it, and not to have it */
  is: number;
  isNot: number;
  /** how many items without a word on it would get it at a score of one half */
  predicted: number;
  /** sum of its shares over all items */
  mass: number;
  /** merged into another or removed by undo: not to be offered any more */
  retired: boolean;
}

export type Phase = "empty" | "unfitted" | "fitting" | "learning" | "ready" | "failed";

/** How the model is, now. */
export interface Model {
  phase: Phase;
  /** what is being done, in words */
  stage: string;
  /** relative gap, certified; null before the first solve */
  gap: number | null;
  lam: number | null;
  /** why that lam */
  reason: string;
  /** how good the answer is, in one sentence */
  certificate: string;
  /** the change of the log that assignments and scores know */
  learnt: number;
  seconds: number;
  error: string;
}

export interface State {
  name: string;
  folder: string;
  version: string;
  items: number;
  tags: number;
  /** the last change of the log */
  revision: number;
  words: { is: number; isNot: number; tagged: number };
  model: Model;
  /** whether points of the map are there */
  map: boolean;
  /** whether items are pictures */
  pictures: boolean;
}

/** What one word or neighbour adds to the share of each tag of `Assignment.tags`. */
export interface Neighbour {
  row: number;
  id: string;
  title: string;
  /** its share in what the crowd says; all of them sum to one */
  share: number;
  stated: Stated[];
  /** one number a tag of `Assignment.tags` */
  adds: number[];
}

/** The assignment of one item under some words of its own, at every lam. */
export interface Assignment {
  /** tags that matter here: anywhere on the path, or spoken of; the largest share first */
  tags: number[];
  /** at the lam of the model, one number a tag */
  shares: number[];
  /** gamma = 1 / (2 lam degree): zero is the crowd alone */
  gamma: number;
  lam: number;
  degree: number;
  /** increasing from 0; shares are straight lines between, and constant after the last */
  gammas: number[];
  /** path[b][t]: share of tags[t] at gammas[b] */
  path: number[][];
  /** shares[t] = max(0, crowd[t] + expert[t] - threshold) */
  crowd: number[];
  expert: number[];
  threshold: number;
  /** the loudest first */
  neighbours: Neighbour[];
  /** what must be added to the word on `runnerUp` for it to draw level with `top`; null where no word can */
  flip: { top: number; runnerUp: number; change: number | null } | null;
  /** in words, where a rule decided and not a sum */
  note: string;
}

/** A suggestion with what each witness adds to the evidence for it. */
export interface Reasoned extends Suggested {
  because: Record<string, number>;
}

export interface Change {
  number: number;
  batch: number;
  at: string;
  who: string;
  row: number;
  item: string;
  tag: number;
  value: -1 | 0 | 1;
  undone: boolean;
  /** whether it is itself the undoing of another */
  undoes: boolean;
}

export interface Detail extends Row {
  text: string;
  extra: Record<string, unknown>;
  /** ten at most */
  reasons: Reasoned[];
  /** stated tags with their score, the item's own word left out */
  heldBy: { tag: number; score: number; usual: number }[];
  assignment: Assignment | null;
  history: Change[];
}

/** What POST /api/words takes. */
export interface Word {
  row: number;
  tag: number;
  /** 0 withdraws */
  value: -1 | 0 | 1;
}

/** What every change answers with: it is on the disk by then. */
export interface Stored {
  revision: number;
  /** what was done, for people: "undid: +mail on mutt" */
  what: string;
  rows: Row[];
}

export interface TagPage {
  tag: Tag;
  /** items without a word on it, the likeliest first */
  candidates: { row: Row; score: number }[];
  /** items that have it, though everybody else speaks against it, the least likely first */
  doubts: { row: Row; score: number; usual: number }[];
  /** tags often stated with it: share of its items that have them too */
  company: { tag: number; share: number }[];
}

/** One point of the collection's progress. */
export interface Moment {
  at: string;
  words: number;
  tagged: number;
}

/** Messages of GET /api/events, by name. */
export interface Events {
  /** somebody said, withdrew or undid something */
  words: { revision: number; who: string; rows: number[]; what: string };
  /** tags were made, renamed or merged */
  tags: { revision: number; who: string; what: string };
  /** the model moved on; many times during a solve, with the gap falling */
  model: Model;
  /** assignments or scores of these rows are new; null: of all */
  learnt: { revision: number; rows: number[] | null };
  /** items were added, or the map came: everything must be asked for again */
  reload: Record<string, never>;
}

/** What a file holds, before anything is made of it. */
export interface Preview {
  /** handle for POST /api/import; the files stay on the server until then */
  upload: string;
  columns: string[];
  /** the first rows, as text */
  sample: string[][];
  rows: number;
  guess: Mapping;
}

/** Which column is what; the same names as the options of lass init. */
export interface Mapping {
  id: string | null;
  title: string | null;
  text: string[];
  tagColumn: string | null;
  separator: string | null;
}

export interface Imported {
  items: number;
  words: number;
  tags: number;
  /** rows left out, in words */
  problems: string[];
}
