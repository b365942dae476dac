/** The queue of the review: what is asked, what was answered, and the way back. */

import { untrack } from "svelte";
import * as api from "../lib/api";
import type { Command } from "../lib/keys";
import type { Filter } from "../lib/query";
import { studio } from "../lib/studio.svelte";
import type { ReviewQuery, ReviewQuestion } from "../lib/types";
import { itemDetails } from "../panel/details";
import { keyOf, rate, remaining } from "./questions";

export type Order = NonNullable<ReviewQuery["order"]>;
type Answer = "accept" | "reject" | "keep" | "skip" | "flag";

/** Questions left at which more are asked for, and items whose details are fetched ahead. */
const FEW = 15;
const AHEAD = 3;

class Review {
  order = $state<Order>("surest");
  tag = $state<number | null>(null);
  filter = $state<Filter>("all");
  text = $state("");
  questions = $state.raw<ReviewQuestion[]>([]);
  /** of all, how many there were when they were asked for last */
  total = $state(0);
  /** how many suggestions have a score of at least so many per cent */
  above = $state.raw<Record<string, number>>({});
  error = $state("");
  ready = $state(false);
  loading = $state(false);
  /** what was answered in this sitting, the latest last */
  history = $state.raw<{ question: ReviewQuestion; answer: Answer }[]>([]);
  #times = $state.raw<number[]>([]);
  /** answers that the total already counts */
  #counted = $state(0);
  #done = new Set<string>();
  #request = 0;

  current = $derived(this.questions[0]);
  answered = $derived(this.history.filter(({ answer }) => answer !== "skip" && answer !== "flag").length);
  left = $derived(Math.max(this.total - (this.answered - this.#counted), this.questions.length));
  rate = $derived(rate(this.#times));
  query = $derived<ReviewQuery>({
    order: this.order,
    tag: this.tag,
    filter: this.filter,
    text: this.text,
    rows: studio.picked,
  });

  /** Asks for the queue from its beginning, as after another choice of order or items. */
  async restart(): Promise<void> {
    this.questions = [];
    this.ready = false;
    await this.load();
  }

  /** Asks for more questions; those that are there keep their places. */
  async load(): Promise<void> {
    const request = ++this.#request;
    this.loading = true;
    const counted = untrack(() => this.answered);
    try {
      const found = await api.review(untrack(() => this.query));
      if (request !== this.#request) return;
      this.questions = remaining(this.questions, found.questions, this.#done);
      this.total = found.total;
      this.#counted = counted;
      this.above = found.above;
      this.error = "";
      this.ready = true;
      this.#fetchAhead();
    } catch (error) {
      if (request === this.#request) this.error = (error as Error).message;
    } finally {
      if (request === this.#request) this.loading = false;
    }
  }

  run(command: Command): void {
    if (command.do === "accept") this.accept();
    else if (command.do === "reject") this.reject();
    else if (command.do === "skip") this.#next("skip");
    else if (command.do === "flag") void this.flag();
    else if (command.do === "undo") void this.undo();
  }

  accept(): void {
    if (!this.current) return;
    if (this.current.stated) this.#next("keep");
    else this.#annotate("accept", 1);
  }

  reject(): void {
    this.#annotate("reject", -1);
  }

  skip(): void {
    this.#next("skip");
  }

  /** Marks the item to come back to, and goes on. */
  async flag(): Promise<void> {
    const question = this.#next("flag");
    if (question) await studio.flag(question.row, true);
  }

  /** Takes the last answer back and returns to that question; without one, the last action anywhere. */
  async undo(): Promise<void> {
    const last = this.history.at(-1);
    if (!last) return void (await studio.undo());
    this.history = this.history.slice(0, -1);
    const { question, answer } = last;
    if (answer === "accept" || answer === "reject") {
      this.#times = this.#times.slice(0, -1);
      if (!(await studio.undo())) return;
    }
    if (answer === "flag") await studio.flag(question.row, false);
    this.#done.delete(keyOf(question));
    this.questions = [question, ...this.questions.filter((other) => keyOf(other) !== keyOf(question))];
  }

  /** Accepts many at once: one action, so one undo. */
  async acceptAll(annotations: { row: number; tag: number; value: -1 | 0 | 1 }[]): Promise<boolean> {
    const done = await studio.annotate(annotations);
    if (!done) return false;
    for (const one of annotations) this.#done.add(keyOf(one));
    this.questions = remaining(this.questions, [], this.#done);
    this.history = []; // undo then takes all of them back
    await this.load();
    return true;
  }

  /** Annotations were undone elsewhere: their questions may be asked again. */
  forget(): void {
    this.#done.clear();
  }

  #annotate(answer: "accept" | "reject", value: 1 | -1): void {
    const question = this.#next(answer);
    if (!question) return;
    this.#times = [...this.#times.slice(-50), performance.now()];
    void studio.annotate([{ row: question.row, tag: question.tag, value }]).then((done) => {
      if (done) return;
      // refused: it was not stored, so the question stands
      this.history = this.history.filter((one) => one.question !== question);
      this.#done.delete(keyOf(question));
      this.questions = [question, ...this.questions];
    });
  }

  #next(answer: Answer): ReviewQuestion | undefined {
    const question = this.current;
    if (!question) return undefined;
    this.#done.add(keyOf(question));
    this.history = [...this.history, { question, answer }];
    this.questions = this.questions.slice(1);
    this.#fetchAhead();
    if (this.questions.length < FEW && !this.loading) void this.load();
    return question;
  }

  #fetchAhead(): void {
    for (const { row } of this.questions.slice(0, AHEAD)) {
      studio.want(row);
      itemDetails(row).catch(() => undefined);
    }
  }
}

export const review = new Review();
