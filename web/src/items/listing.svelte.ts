/** The list of items as it was asked for: a snapshot, which does not re-order under the user's hands. */

import { untrack } from "svelte";
import * as api from "../lib/api";
import type { Filter, Query, Sign } from "../lib/query";
import { studio } from "../lib/studio.svelte";

class Listing {
  text = $state("");
  filter = $state<Filter>("all");
  tag = $state<number | null>(null);
  sign = $state<Sign>("is");
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
    ...(this.tag === null ? {} : { tag: this.tag, sign: this.sign }),
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
      (this.filter !== "all" || this.tag !== null) &&
      (this.#seen.annotations !== studio.annotationsVersion ||
        this.#seen.predictions !== studio.predictionsVersion),
  );

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

  /** The item `by` places on. From an item that is not in the list, one comes to its beginning. */
  move(by: number): void {
    if (!this.rows.length) return;
    const from = this.place(studio.selected);
    const to = from < 0 ? 0 : Math.max(0, Math.min(this.rows.length - 1, from + by));
    studio.selected = this.rows[to]!;
  }

  /** The next item to label: the queue is opened first, and asked for again at its end. */
  async next(): Promise<void> {
    const place = this.place(studio.selected);
    if (this.filter === "next" && place >= 0 && place < this.rows.length - 1) return this.move(1);
    this.text = "";
    this.tag = null;
    studio.picked = null;
    this.filter = "next";
    await this.load("keep");
    studio.selected = this.rows.find((row) => row !== studio.selected) ?? studio.selected;
  }
}

export const listing = new Listing();
