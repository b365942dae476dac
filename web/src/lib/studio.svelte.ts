/** What all views share: the state of the collection, its tags and rows, who is at work, and what was just done. */

import { SvelteMap } from "svelte/reactivity";
import * as api from "./api";
import type { Events, Row, State, Stored, Tag, Word } from "./types";
import { withWord } from "./words";

export type View = "items" | "map" | "tags" | "progress";

export interface Toast {
  key: number;
  text: string;
  kind: "done" | "error";
  /** whether "Undo" is offered beside it */
  undoable: boolean;
}

/** Rows asked for in one request. */
const PAGE = 100;

class Studio {
  state = $state<State | null>(null);
  tags = $state<Tag[]>([]);
  /** rows by number, as far as they were asked for */
  rows = new SvelteMap<number, Row>();
  view = $state<View>("items");
  /** the item whose panel is open */
  selected = $state<number | null>(null);
  /** the tag whose page is open in the view of tags */
  tag = $state<number | null>(null);
  /** rows picked on the map, which the list then shows alone; null: no such choice */
  picked = $state<number[] | null>(null);
  who = $state(localStorage.getItem("lass-who") ?? "");
  theme = $state<"" | "light" | "dark">((localStorage.getItem("lass-theme") as "" | "light" | "dark" | null) ?? "");
  toasts = $state<Toast[]>([]);
  /** whether the server can be heard */
  online = $state(true);
  /** counts up when assignments or scores changed; views that show them ask again */
  learnt = $state(0);
  /** counts up with every change of words by anybody */
  said = $state(0);
  /** why the first request failed, if it did */
  broken = $state("");

  /** rows to ask for, rows on their way, and rows that are there but may be out of date */
  #wanted = new Set<number>();
  #asked = new Set<number>();
  #stale = new Set<number>();
  /** counts up when rows go stale, so that those on the screen are wanted again */
  #round = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reloading: ReturnType<typeof setTimeout> | undefined;
  /** words said that the server has not acknowledged yet */
  #pending: Word[] = [];
  /** how often each row changed here: an answer that was asked for before a change is older than it */
  #touched = new Map<number, number>();
  #keys = 0;

  tagName = (tag: number): string => this.tags[tag]?.name ?? `tag ${tag}`;
  /** Tags that may be given, the most used first. */
  offered = $derived(this.tags.filter((tag) => !tag.retired).toSorted((a, b) => b.is - a.is));

  async start(): Promise<void> {
    try {
      await this.reload();
      this.#listen();
    } catch (error) {
      this.broken = (error as Error).message;
    }
  }

  async reload(): Promise<void> {
    [this.state, this.tags] = await Promise.all([api.state(), api.tags()]);
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
  want(row: number): Row | undefined {
    void this.#round;
    const found = this.rows.get(row);
    if ((!found || this.#stale.has(row)) && !this.#asked.has(row)) {
      this.#wanted.add(row);
      this.#timer ??= setTimeout(() => void this.#fetch(), 10);
    }
    return found;
  }

  /** Says words: on the screen at once, on the disk when the answer comes; taken back if it is refused. */
  async say(words: Word[]): Promise<boolean> {
    const before = new Map<number, Row>();
    for (const word of words) {
      const row = this.rows.get(word.row);
      if (!row) continue;
      if (!before.has(word.row)) before.set(word.row, row);
      this.rows.set(word.row, withWord(row, word));
    }
    this.#pending.push(...words);
    this.#touch(words);
    const done = await this.#change(async () => {
      try {
        return await api.say(words, this.who);
      } finally {
        this.#pending = this.#pending.filter((word) => !words.includes(word));
        this.#touch(words);
      }
    });
    if (!done) for (const row of before.values()) this.#put(row);
    return done;
  }

  undo = (): Promise<boolean> => this.#change(() => api.undo(this.who), false);
  redo = (): Promise<boolean> => this.#change(() => api.redo(this.who), false);
  renameTag = (tag: number, name: string): Promise<boolean> =>
    this.#change(() => api.renameTag(tag, name, this.who));
  mergeTag = (tag: number, into: number): Promise<boolean> =>
    this.#change(() => api.mergeTag(tag, into, this.who));
  addTag = async (name: string): Promise<number | null> => {
    let made: number | null = null;
    await this.#change(async () => {
      const stored = await api.addTag(name, this.who);
      made = stored.tag;
      return stored;
    });
    return made;
  };

  tell(text: string, kind: Toast["kind"] = "done", undoable = false): void {
    if (kind === "error" && this.toasts.some((toast) => toast.text === text)) return; // said already
    const key = ++this.#keys;
    this.toasts = [...this.toasts.slice(-2), { key, text, kind, undoable }];
    setTimeout(() => this.dismiss(key), kind === "error" ? 12_000 : 5_000);
  }

  dismiss(key: number): void {
    this.toasts = this.toasts.filter((toast) => toast.key !== key);
  }

  async #change(send: () => Promise<Stored>, undoable = true): Promise<boolean> {
    try {
      const stored = await send();
      for (const row of stored.rows) this.#keep(row);
      if (this.state) this.state.revision = Math.max(this.state.revision, stored.revision);
      if (stored.what) this.tell(stored.what, "done", undoable);
      this.said += 1;
      return true;
    } catch (error) {
      this.tell((error as Error).message, "error");
      return false;
    }
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
        const begun = some.map((row) => this.#touched.get(row));
        const answer = await api.rows(some);
        for (const [place, row] of answer.entries()) {
          // what was said here while the answer travelled is not in it
          if (this.#touched.get(row.row) !== begun[place]) this.#stale.add(row.row);
          else this.#put(row);
        }
      } catch (error) {
        this.tell((error as Error).message, "error");
      }
      for (const row of some) this.#asked.delete(row);
      if (some.some((row) => this.#stale.has(row))) this.#round += 1;
    }
  }

  #keep(row: Row): void {
    this.#stale.delete(row.row);
    this.#touch([row]);
    this.#put(row);
  }

  /** A row as the server knows it, with the words that are still on their way. */
  #put(row: Row): void {
    const coming = this.#pending.filter((word) => word.row === row.row);
    this.rows.set(row.row, coming.reduce(withWord, row));
  }

  #touch(rows: readonly { row: number }[]): void {
    for (const { row } of rows) this.#touched.set(row, (this.#touched.get(row) ?? 0) + 1);
  }

  #listen(): void {
    const source = new EventSource("/api/events");
    const on = <Name extends keyof Events>(name: Name, hear: (told: Events[Name]) => void) =>
      source.addEventListener(name, (event) => hear(JSON.parse((event as MessageEvent<string>).data)));
    let lost = false;
    source.onopen = () => {
      this.online = true;
      if (lost) void this.#afresh(); // what happened meanwhile was not heard
      lost = false;
    };
    source.onerror = () => {
      this.online = false;
      lost = true;
    };
    on("words", (told) => {
      this.#forget(told.rows);
      this.said += 1;
      this.#soon();
    });
    on("tags", () => {
      this.said += 1;
      this.#soon();
    });
    on("model", (told) => {
      if (this.state) this.state.model = told;
    });
    on("learnt", (told) => {
      this.#forget(told.rows);
      this.learnt += 1;
      this.#soon();
    });
    on("reload", () => void this.#afresh());
  }

  async #afresh(): Promise<void> {
    this.#forget(null);
    await this.reload();
    this.learnt += 1;
    this.said += 1;
  }

  /** Counts of the collection and of tags, once after a burst of changes. */
  #soon(): void {
    this.#reloading ??= setTimeout(() => {
      this.#reloading = undefined;
      this.reload().catch(() => undefined); // the banner says already that the server is gone
    }, 200);
  }

  /** Rows may be out of date: those on the screen are asked for again, and stay until the new ones are there. */
  #forget(rows: number[] | null): void {
    for (const row of rows ?? this.rows.keys()) if (this.rows.has(row)) this.#stale.add(row);
    this.#round += 1;
  }
}

export const studio = new Studio();
