/** What all views share: the state of the collection, its tags and rows, who is working, and what was just done. */

import { SvelteMap } from "svelte/reactivity";
import * as api from "./api";
import { withAnnotation } from "./annotations";
import { plural } from "./format";
import { BASE, current, keep } from "./token";
import type { AnnotationChange, ChangeResult, EventData, ItemRow, StudioState, Tag } from "./types";

export type View = "review" | "items" | "map" | "tags" | "progress";

export interface Toast {
  key: number;
  text: string;
  kind: "done" | "error";
  /** whether "Undo" is offered beside it */
  undoable: boolean;
}

/** Something to store that the server has not taken yet. */
type Waiting =
  | { what: "annotations"; changes: AnnotationChange[]; who: string }
  | { what: "tag-items"; rows: number[]; name: string; who: string };

/** Rows asked for in one request. */
const PAGE = 100;
/** Milliseconds until a lost server is asked for again: the first time, and at most. */
const RETRY = 400;
const LONGEST_RETRY = 4000;
/** Milliseconds until counts are asked for again, after a change of this page and of others, and for how long a change
 * of this page counts as such: the model takes it in. */
const SOON = 200;
const LATER = 2000;
const MINE = 10_000;
/** The part of the storage of this tab where changes wait for the server. */
const WAITING = `lass-waiting:${BASE.pathname}`;
const PICKED = `lass-picked:${BASE.pathname}`;

class Studio {
  state = $state<StudioState | null>(null);
  tags = $state<Tag[]>([]);
  /** rows by number, as far as they were asked for */
  rows = new SvelteMap<number, ItemRow>();
  view = $state<View>("items");
  /** the item whose panel is open */
  selected = $state<number | null>(null);
  /** counts up when another view opens an item */
  openings = $state(0);
  /** the tag whose page is open in the view of tags */
  tag = $state<number | null>(null);
  #picked = $state.raw<number[] | null>(null);
  who = $state(localStorage.getItem("lass-who") ?? "");
  theme = $state<"" | "light" | "dark">((localStorage.getItem("lass-theme") as "" | "light" | "dark" | null) ?? "");
  toasts = $state<Toast[]>([]);
  /** whether the server is connected */
  online = $state(true);
  /** counts up when assignments or scores changed; views that show them ask again */
  predictionsVersion = $state(0);
  /** counts up with every change of annotations by anybody */
  annotationsVersion = $state(0);
  /** why the first request failed, if it did */
  failure = $state("");
  /** whether the server does not know the token of this page */
  locked = $state(false);
  /** what happened while the server was away, in a sentence, until it is read */
  returned = $state("");
  /** changes that are stored when the server is back */
  waiting = $state.raw<Waiting[]>([]);
  /** the name under which changes of this page are stored */
  me = $derived(this.state?.ownLink ? this.state.you : this.who || this.state?.you || "");

  /** rows to ask for, rows on their way, and rows that are there but may be out of date */
  #wanted = new Set<number>();
  #asked = new Set<number>();
  #stale = new Set<number>();
  /** counts up when rows go stale, so that those on the screen are wanted again */
  #round = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reloading: ReturnType<typeof setTimeout> | undefined;
  #soon = false;
  /** when this page changed something last */
  #changed = -MINE;
  /** annotations that the server has not acknowledged yet */
  #pending: AnnotationChange[] = [];
  /** how often each row changed here: an answer that was asked for before a change is older than it */
  #versions = new Map<number, number>();
  #keys = 0;
  /** by what is undone what was annotated here */
  #actions = new WeakMap<AnnotationChange[], { change: number; who: string }>();
  #source: EventSource | undefined;
  #modelEvents = 0;
  #retrying: ReturnType<typeof setTimeout> | undefined;
  #delay = RETRY;

  /** rows picked on the map, which the list and the review then show alone, after a reload too; null: no such choice */
  get picked(): number[] | null {
    return this.#picked;
  }
  set picked(rows: number[] | null) {
    this.#picked = rows;
    try {
      if (rows) sessionStorage.setItem(PICKED, JSON.stringify({ folder: this.state?.folder, rows }));
      else sessionStorage.removeItem(PICKED);
    } catch {
      // too many for the storage: a reload shows all
    }
  }

  /** The rows that were picked before a reload of this tab. */
  #pickAgain(): void {
    const kept = JSON.parse(sessionStorage.getItem(PICKED) ?? "{}") as { folder?: string; rows?: number[] };
    const { folder, items = 0 } = this.state ?? {};
    if (kept.rows && kept.folder === folder && kept.rows.every((row) => row < items)) this.#picked = kept.rows;
  }

  /** whether there is anything to learn from */
  annotated = $derived(Boolean(this.state && this.state.annotations.is + this.state.annotations.isNot));
  tagName = (tag: number): string => this.tags[tag]?.name ?? `tag ${tag}`;
  /** Tags that may be given, the most used first. */
  offered = $derived(this.tags.filter((tag) => !tag.retired).toSorted((a, b) => b.is - a.is));
  /** Tags that some item has. */
  used = $derived(this.offered.filter((tag) => tag.is > 0).map((tag) => tag.tag));

  async start(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      if (error instanceof api.Refused && error.status === 401) this.locked = true;
      else this.failure = (error as Error).message;
      return;
    }
    this.#pickAgain();
    this.#listen();
    this.#recall();
    const stored = await this.#store();
    if (stored) this.returned = `Stored ${plural(stored, "change")} that waited.`;
  }

  /** Tries a token; why it does not let in, or nothing. */
  async enter(token: string): Promise<string> {
    const before = current();
    keep(token);
    try {
      await api.state();
    } catch (error) {
      keep(before);
      const wrong = error instanceof api.Refused && error.status === 401;
      return wrong ? "The Studio does not know this token." : (error as Error).message;
    }
    this.locked = false;
    if (this.state) void this.#retry();
    else await this.start();
    return "";
  }

  async reload(): Promise<void> {
    const seen = this.#modelEvents;
    const [state, tags] = await Promise.all([api.state(), api.tags()]);
    // what an event brought meanwhile is newer than this answer
    if (this.state && seen !== this.#modelEvents) state.model = this.state.model;
    [this.state, this.tags] = [state, tags];
  }

  setWho(name: string): void {
    this.who = name.trim();
    localStorage.setItem("lass-who", this.who);
  }

  setTheme(theme: "" | "light" | "dark"): void {
    this.theme = theme;
    localStorage.setItem("lass-theme", theme);
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }

  /** See that a row is there soon and up to date; rows asked for within a moment travel together. */
  want(row: number): ItemRow | undefined {
    void this.#round;
    const found = this.rows.get(row);
    if ((!found || this.#stale.has(row)) && !this.#asked.has(row)) {
      this.#wanted.add(row);
      this.#timer ??= setTimeout(() => void this.#fetch(), 10);
    }
    return found;
  }

  /** Annotates: on the screen at once, on the disk when the answer comes; taken back if it is refused. A message names
   * what was done. */
  async annotate(changes: AnnotationChange[]): Promise<boolean> {
    const before = new Map<number, ItemRow>();
    for (const change of changes) {
      const row = this.rows.get(change.row);
      if (!row) continue;
      if (!before.has(change.row)) before.set(change.row, row);
      this.rows.set(change.row, withAnnotation(row, change));
    }
    this.#pending.push(...changes);
    this.#count(changes);
    const answered = () => {
      this.#pending = this.#pending.filter((change) => !changes.includes(change));
      this.#count(changes);
    };
    const waiting: Waiting = { what: "annotations", changes, who: this.who };
    const done = await this.#change(async () => {
      const result = await api.annotate(changes, waiting.who);
      answered();
      this.#actions.set(changes, { change: result.change, who: waiting.who });
      return result;
    }, waiting);
    if (!done) {
      answered();
      for (const row of before.values()) this.#put(row);
    }
    return done;
  }

  /** Undoes what was annotated here, whatever was done since; `before` is what it was, and a message says so. */
  async undoAnnotations(changes: AnnotationChange[], before: AnnotationChange[], say: string): Promise<boolean> {
    const entry = this.waiting.find((one) => one.what === "annotations" && one.changes === changes);
    if (entry && !this.online) {
      this.#setWaiting(this.waiting.filter((one) => one !== entry));
      this.#pending = this.#pending.filter((change) => !changes.includes(change));
      for (const change of before) {
        const row = this.rows.get(change.row);
        if (row) this.rows.set(change.row, withAnnotation(row, change));
      }
      this.notify(say);
      return true;
    }
    const action = this.#actions.get(changes);
    if (!action) {
      this.notify("It is not stored yet; try again in a moment", "error");
      return false;
    }
    return this.#change(async () => {
      const result = await api.undo(action.who, action.change);
      return result.rows.length ? { ...result, what: say } : { ...result, what: "It was undone already" };
    }, null, false);
  }

  /** Gives a tag, which may be a new one, to many items: one action, so one undo. */
  tagItems = async (rows: number[], name: string): Promise<boolean> => {
    const waiting: Waiting = { what: "tag-items", rows, name, who: this.who };
    const done = await this.#change(() => api.tagItems(rows, name, waiting.who), waiting);
    if (done && this.online) await this.reload();
    return done;
  };
  /** Marks an item to come back to, or takes the mark away. */
  async flag(row: number, flagged: boolean): Promise<boolean> {
    try {
      this.#keep(await api.flag(row, flagged, this.who));
      return true;
    } catch (error) {
      this.notify((error as Error).message, "error");
      return false;
    }
  }
  undo = (): Promise<boolean> => this.#change(() => api.undo(this.who), null, false);
  redo = (): Promise<boolean> => this.#change(() => api.redo(this.who), null, false);
  renameTag = (tag: number, name: string): Promise<boolean> =>
    this.#change(() => api.renameTag(tag, name, this.who));
  mergeTag = (tag: number, into: number): Promise<boolean> =>
    this.#change(() => api.mergeTag(tag, into, this.who));
  deleteTag = (tag: number): Promise<boolean> => this.#change(() => api.deleteTag(tag, this.who));
  addTag = async (name: string): Promise<number | null> => {
    let made: number | null = null;
    await this.#change(async () => {
      const result = await api.addTag(name, this.who);
      made = result.tag;
      return result;
    });
    return made;
  };

  notify(text: string, kind: Toast["kind"] = "done", undoable = false): void {
    if (kind === "error" && this.toasts.some((toast) => toast.text === text)) return; // shown already
    const key = ++this.#keys;
    this.toasts = [...this.toasts.slice(-2), { key, text, kind, undoable }];
    setTimeout(() => this.dismiss(key), kind === "error" ? 12_000 : 5_000);
  }

  dismiss(key: number): void {
    this.toasts = this.toasts.filter((toast) => toast.key !== key);
  }

  /** Sends a change; one that can wait is stored later, where the server does not answer. */
  async #change(send: () => Promise<ChangeResult>, waiting: Waiting | null = null, undoable = true): Promise<boolean> {
    if (waiting && (!this.online || this.waiting.length)) {
      this.#wait(waiting); // in the order in which they were made
      return true;
    }
    this.#changed = performance.now();
    try {
      const result = await send();
      for (const row of result.rows) this.#keep(row);
      if (this.state) this.state.revision = Math.max(this.state.revision, result.revision);
      if (result.what) this.notify(result.what, "done", undoable);
      this.annotationsVersion += 1;
      return true;
    } catch (error) {
      const lost = error instanceof api.Refused && (error.status === 0 || error.status === 401);
      if (waiting && lost) {
        this.#wait(waiting);
        this.#lose();
        return true;
      }
      this.notify((error as Error).message, "error");
      return false;
    }
  }

  #wait(change: Waiting): void {
    this.#setWaiting([...this.waiting, change]);
  }

  #setWaiting(changes: Waiting[]): void {
    this.waiting = changes;
    sessionStorage.setItem(WAITING, JSON.stringify({ folder: this.state?.folder, changes }));
  }

  /** Changes that waited when this tab was reloaded. */
  #recall(): void {
    const kept = JSON.parse(sessionStorage.getItem(WAITING) ?? "null") as { folder: string; changes: Waiting[] } | null;
    if (kept && kept.folder === this.state?.folder) this.waiting = kept.changes;
  }

  /** Stores what waited, one after the other; how many changes that were. */
  async #store(): Promise<number> {
    let stored = 0;
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      try {
        const send = next.what === "annotations" ? api.annotate(next.changes, next.who) : api.tagItems(next.rows, next.name, next.who);
        const result = await send;
        if (next.what === "annotations") this.#actions.set(next.changes, { change: result.change ?? 0, who: next.who });
        for (const row of result.rows) this.#keep(row);
        stored += 1;
      } catch (error) {
        if (error instanceof api.Refused && (error.status === 0 || error.status === 401)) {
          this.#lose();
          return stored;
        }
        this.notify((error as Error).message, "error");
      }
      this.#setWaiting(this.waiting.slice(1));
    }
    this.#pending = [];
    return stored;
  }

  async #fetch(): Promise<void> {
    this.#timer = undefined;
    // the newest first: after a long scroll these are the ones on the screen
    const wanted = [...this.#wanted].reverse();
    this.#wanted.clear();
    for (const row of wanted) this.#asked.add(row);
    for (let first = 0; first < wanted.length; first += PAGE) {
      const some = wanted.slice(first, first + PAGE);
      // what goes stale while the answer travels must stay so
      for (const row of some) this.#stale.delete(row);
      try {
        const begun = some.map((row) => this.#versions.get(row));
        const answer = await api.rows(some);
        for (const [place, row] of answer.entries()) {
          // what was changed here while the answer travelled is not in it
          if (this.#versions.get(row.row) !== begun[place]) this.#stale.add(row.row);
          else this.#put(row);
        }
      } catch (error) {
        this.notify((error as Error).message, "error");
      }
      for (const row of some) this.#asked.delete(row);
      if (some.some((row) => this.#stale.has(row))) this.#round += 1;
    }
  }

  #keep(row: ItemRow): void {
    this.#stale.delete(row.row);
    this.#count([row]);
    this.#put(row);
  }

  /** A row as the server has it, with the annotations that are still on their way. */
  #put(row: ItemRow): void {
    const coming = this.#pending.filter((change) => change.row === row.row);
    this.rows.set(row.row, coming.reduce(withAnnotation, row));
  }

  #count(rows: readonly { row: number }[]): void {
    for (const { row } of rows) this.#versions.set(row, (this.#versions.get(row) ?? 0) + 1);
  }

  #listen(): void {
    const source = new EventSource(api.eventsUrl());
    this.#source = source;
    const on = <Name extends keyof EventData>(name: Name, handle: (data: EventData[Name]) => void) =>
      source.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data)));
    source.onerror = () => this.#lose();
    on("annotations", ({ rows }) => {
      this.#markStale(rows);
      this.annotationsVersion += 1;
      this.#reloadSoon();
    });
    on("tags", () => {
      this.annotationsVersion += 1;
      this.#reloadSoon();
    });
    on("model", (model) => {
      this.#modelEvents += 1;
      if (this.state) this.state.model = model;
    });
    on("predictions", ({ rows }) => {
      this.#markStale(rows);
      this.predictionsVersion += 1;
      this.#reloadSoon();
    });
    on("reload", () => void this.#reloadAll());
  }

  /** The server is gone, or does not let this page in any more: it is asked for again and again. */
  #lose(): void {
    this.#source?.close();
    if (this.#retrying !== undefined) return;
    this.online = false;
    this.returned = "";
    this.#delay = RETRY;
    this.#retrying = setTimeout(() => void this.#retry(), 0);
  }

  async #retry(): Promise<void> {
    const before = this.state;
    let found: StudioState;
    try {
      found = await api.state();
    } catch (error) {
      if (error instanceof api.Refused && error.status === 401) {
        this.locked = true; // the field for the token goes on from here
        return;
      }
      this.#retrying = setTimeout(() => void this.#retry(), this.#delay);
      this.#delay = Math.min(this.#delay * 1.5, LONGEST_RETRY);
      return;
    }
    this.#retrying = undefined;
    if (found.folder !== before?.folder) return location.reload(); // another collection
    this.online = true;
    this.#listen();
    const again = found.started !== before.started;
    const stored = await this.#store();
    this.returned = [
      again ? "The Studio was started again. This page goes on where it was." : "The Studio is back.",
      stored ? `Stored ${plural(stored, "change")} that waited.` : "",
    ].join(" ");
    await this.#reloadAll();
  }

  async #reloadAll(): Promise<void> {
    const before = this.state?.started;
    this.#markStale(null);
    await this.reload();
    // changes of a collection that was replaced have other numbers: undo must not take another one back
    if (this.state?.started !== before) this.#actions = new WeakMap();
    this.predictionsVersion += 1;
    this.annotationsVersion += 1;
  }

  /** Counts of the collection and of tags, once after a burst of changes; not at once for what others do, of whom
   * there may be a hundred. */
  #reloadSoon(): void {
    const soon = performance.now() - this.#changed < MINE;
    if (this.#reloading !== undefined && (this.#soon || !soon)) return;
    clearTimeout(this.#reloading);
    this.#soon = soon;
    this.#reloading = setTimeout(
      () => {
        this.#reloading = undefined;
        this.reload().catch(() => undefined); // the notice shows already that the server is gone
      },
      soon ? SOON : LATER,
    );
  }

  /** Rows may be out of date: those on the screen are asked for again, and stay until the new ones are there. */
  #markStale(rows: number[] | null): void {
    for (const row of rows ?? this.rows.keys()) if (this.rows.has(row)) this.#stale.add(row);
    this.#round += 1;
  }
}

export const studio = new Studio();
