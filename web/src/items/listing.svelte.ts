/** The list of items as it was asked for: a snapshot, which does not re-order under the user's hands. */

import { untrack } from "svelte";
import * as api from "../lib/api";
import type { Condition, Filter, Query, Sign, Sort } from "../lib/query";
import { studio } from "../lib/studio.svelte";

class Listing {
  text = $state("");
  filter = $state<Filter>("all");
  conditions = $state.raw<Condition[]>([]);
  sort = $state<Sort>("found");
  backwards = $state(false);
  /** pictures side by side instead of lines */
  grid = $state(localStorage.getItem("lass-grid") === "yes");
  /** items chosen together; the open one is among them, or there are none */
  chosen = $state.raw<ReadonlySet<number>>(new Set());
  /** where a choice of neighbouring items began */
  #anchor: number | null = null;
  /** parts of the text that were looked for, and near words that were found instead */
  terms = $state.raw<readonly string[]>([]);
  near = $state.raw<readonly string[]>([]);
  /** all rows that the server found, in order */
  #found = $state.raw<number[]>([]);
  loading = $state(false);
  error = $state("");
  /** whether a first answer is there */
  ready = $state(false);
  #seen = $state({ annotations: 0, predictions: 0 });
  #request: AbortController | null = null;

  query = $derived<Query>({
    ...(this.text ? { text: this.text } : {}),
    ...(this.filter === "all" ? {} : { filter: this.filter }),
    ...(this.conditions.length ? { conditions: this.conditions } : {}),
    ...(this.sort === "found" ? {} : { sort: this.sort }),
    ...(this.backwards ? { backwards: true } : {}),
  });
  rows = $derived.by(() => {
    if (!studio.picked) return this.#found;
    const picked = new Set(studio.picked);
    return this.#found.filter((row) => picked.has(row));
  });
  #places = $derived(new Map(this.rows.map((row, place) => [row, place])));
  /** Whether the answer may be another by now. */
  stale = $derived(
    this.ready &&
      (this.filter !== "all" || this.conditions.length > 0 || (this.sort !== "found" && this.sort !== "name")) &&
      (this.#seen.annotations !== studio.annotationsVersion ||
        this.#seen.predictions !== studio.predictionsVersion),
  );

  /** what to mark in titles and texts */
  marks = $derived([...this.terms, ...this.near]);
  /** whether nothing is left out */
  whole = $derived(!this.text && this.filter === "all" && !this.conditions.length && !studio.picked);

  /** Where a row is in the list; -1 if it is not in it. */
  place = (row: number | null): number => (row === null ? -1 : (this.#places.get(row) ?? -1));

  /** Asks for the list; `choose`: what to do when the open item is not in it. */
  async load(choose: "keep" | "first"): Promise<void> {
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    const seen = untrack(() => ({
      annotations: studio.annotationsVersion,
      predictions: studio.predictionsVersion,
    }));
    this.loading = true;
    try {
      const list = await api.list(
        untrack(() => this.query),
        request.signal,
      );
      this.#found = list.rows;
      this.terms = list.terms;
      this.near = list.near;
      this.#seen = seen;
      this.error = "";
      this.ready = true;
      if (studio.selected === null || (choose === "first" && this.place(studio.selected) < 0))
        studio.selected = this.rows[0] ?? studio.selected;
    } catch (error) {
      if (request.signal.aborted) return;
      this.error = (error as Error).message;
    }
    if (this.#request === request) this.loading = false;
  }

  /** One more condition, or another for the same tag. */
  add(tag: number, sign: Sign): void {
    this.conditions = [...this.conditions.filter((other) => other.tag !== tag), { tag, sign }];
    void this.load("first");
  }

  remove(tag: number): void {
    this.conditions = this.conditions.filter((other) => other.tag !== tag);
    void this.load("first");
  }

  /** All items again. */
  clear(): void {
    this.text = "";
    this.filter = "all";
    this.conditions = [];
    studio.picked = null;
    void this.load("keep");
  }

  /** Opens one item, as one does without Shift and Ctrl. */
  open(row: number): void {
    studio.selected = row;
    this.#anchor = null;
    if (this.chosen.size) this.chosen = new Set(); // each change of it is looked at by every line in sight
  }

  choose(rows: Iterable<number>): void {
    this.chosen = new Set(rows);
    this.#anchor = null;
  }

  /** Adds an item to the chosen ones, or takes it away. */
  toggle(row: number): void {
    const now = new Set(this.chosen.size || studio.selected === null ? this.chosen : [studio.selected]);
    if (!now.delete(row)) now.add(row);
    this.chosen = now;
    this.#anchor = row;
    if (now.has(row)) studio.selected = row;
  }

  /** Chooses all items from where the choice began to this one. */
  extend(row: number): void {
    this.#anchor ??= studio.selected ?? row;
    const [from, to] = [this.place(this.#anchor), this.place(row)];
    if (to < 0) return;
    const low = from < 0 ? to : from;
    this.chosen = new Set(this.rows.slice(Math.min(low, to), Math.max(low, to) + 1));
    studio.selected = row;
  }

  /** The same by places, as with Shift and an arrow. */
  extendBy(by: number): void {
    const at = this.place(studio.selected);
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, at + by))];
    if (row !== undefined) this.extend(row);
  }

  setGrid(grid: boolean): void {
    this.grid = grid;
    localStorage.setItem("lass-grid", grid ? "yes" : "no");
  }

  /** The item `by` places on. From an item that is not in the list, one comes to its beginning. */
  move(by: number): void {
    if (!this.rows.length) return;
    const from = this.place(studio.selected);
    const to = from < 0 ? 0 : Math.max(0, Math.min(this.rows.length - 1, from + by));
    this.open(this.rows[to]!);
  }

  /** The next item to label: the queue is opened first, and asked for again at its end. */
  async next(): Promise<void> {
    const place = this.place(studio.selected);
    if (this.filter === "next" && place >= 0 && place < this.rows.length - 1) return this.move(1);
    this.text = "";
    this.conditions = [];
    this.sort = "found";
    this.backwards = false;
    studio.picked = null;
    this.filter = "next";
    await this.load("keep");
    studio.selected = this.rows.find((row) => row !== studio.selected) ?? studio.selected;
  }
}

export const listing = new Listing();
