/** The queue of the review: what is asked, what was answered, and the way back. */

import { untrack } from "svelte";
import { annotationOf } from "../lib/annotations";
import * as api from "../lib/api";
import { plural } from "../lib/format";
import type { Command } from "../lib/keys";
import type { Filter } from "../lib/query";
import { studio } from "../lib/studio.svelte";
import type { AnnotationChange, ReviewQuery, ReviewQuestion, ReviewQueue } from "../lib/types";
import { itemDetails } from "../panel/details";
import { readPlace, writtenPlace, type Order } from "./place";
import { keyOf, rate, remaining } from "./questions";

type Answer = "accept" | "reject" | "keep" | "skip" | "flag" | "unflag" | "all";
/** What was decided, what was stored so, whether that was taken, and what it was before. */
interface Decision {
  question: ReviewQuestion;
  answer: Answer;
  annotations: AnnotationChange[];
  before: AnnotationChange[];
  stored: Promise<boolean>;
}

/** Questions left at which more are asked for, and items whose details are fetched ahead. */
const FEW = 15;
const AHEAD = 3;
/** Score from which on a suggestion counts as likely. */
const LIKELY = 0.5;

/** What an answer did, as a sentence. */
function described({ question, answer, annotations }: Decision): string {
  if (answer === "all" && annotations.length > 1) return `${plural(annotations.length, "tag")} accepted together`;
  const item = studio.rows.get(question.row);
  return `${answer === "reject" ? "−" : "+"}${studio.tagName(question.tag)} on ${item?.id ?? "an item"}`;
}

/** How many questions with at least a score were answered: none that are still there. */
function answers(decisions: readonly Decision[], least = 0): number {
  const counts = decisions.map(({ question, answer, annotations }) => {
    if (answer === "keep") return 1;
    return answer === "all" || (question.score ?? 0) >= least ? annotations.length : 0;
  });
  return counts.reduce((sum, one) => sum + one, 0);
}

class Review {
  order = $state<Order>("surest");
  tag = $state<number | null>(null);
  filter = $state<Filter>("all");
  questions = $state.raw<ReviewQuestion[]>([]);
  /** of all, how many there were when they were asked for last */
  total = $state(0);
  error = $state("");
  ready = $state(false);
  loading = $state(false);
  /** what was answered in this sitting, the latest last */
  history = $state.raw<Decision[]>([]);
  #times = $state.raw<number[]>([]);
  /** the counts as they were asked for last, and what was answered by then */
  #found = $state.raw<Pick<ReviewQueue, "likely" | "above">>({ likely: null, above: {} });
  #counted = $state.raw<readonly Decision[]>([]);
  #done = new Set<string>();
  #request = 0;
  #undoing: Promise<void> = Promise.resolve();

  current = $derived(this.questions[0]);
  answered = $derived(answers(this.history));
  left = $derived(Math.max(this.total - this.#since(0), this.questions.length));
  /** of those that are left, how many have a score of one half or more; null without scores */
  likely = $derived(this.#found.likely === null ? null : Math.max(this.#found.likely - this.#since(LIKELY), 0));
  /** how many suggestions have a score of at least so many per cent */
  above = $derived<Record<string, number>>(
    Object.fromEntries(
      Object.entries(this.#found.above).map(([level, count]) => [level, Math.max(count - this.#since(Number(level) / 100), 0)]),
    ),
  );
  rate = $derived(rate(this.#times));
  query = $derived<ReviewQuery>({
    order: this.order,
    tag: this.tag,
    filter: this.filter,
    rows: studio.picked,
  });

  /** All questions, the surest first. */
  everything(): void {
    this.place = "";
    studio.picked = null;
  }

  /** Order and choice of items in the address; empty: everything, the surest first. */
  get place(): string {
    return writtenPlace(this);
  }
  set place(place: string) {
    ({ order: this.order, filter: this.filter, tag: this.tag } = readPlace(place));
  }

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
    const counted = untrack(() => this.history);
    try {
      const found = await api.review(untrack(() => this.query));
      if (request !== this.#request) return;
      this.questions = remaining(this.questions, found.questions, this.#done);
      // where people differ, a question that was answered here stays one for the server
      this.total = found.total - found.questions.filter((one) => this.#done.has(keyOf(one))).length;
      this.#found = found;
      this.#counted = counted;
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
    else if (command.do === "skip") this.skip();
    else if (command.do === "flag") void this.flag();
    else if (command.do === "undo") void this.undo();
  }

  accept(): void {
    if (!this.current) return;
    if (this.current.stated) this.#leave("keep");
    else this.#annotate("accept", 1);
  }

  reject(): void {
    this.#annotate("reject", -1);
  }

  skip(): void {
    this.#leave("skip");
  }

  /** Marks the item to come back to, or takes the mark away; the question stays. */
  async flag(): Promise<void> {
    const question = this.current;
    if (!question) return;
    const flagged = !studio.rows.get(question.row)?.flagged;
    const stored = studio.flag(question.row, flagged);
    const decision: Decision = { question, answer: flagged ? "flag" : "unflag", annotations: [], before: [], stored };
    this.history = [...this.history, decision];
    if (await stored) studio.notify(flagged ? "Flagged: the filter “flagged items” brings it back" : "Flag taken away");
    else this.history = this.history.filter((one) => one !== decision);
  }

  /** Takes back what was done last on this page, and nothing else; returns to that question. */
  undo(): Promise<void> {
    this.#undoing = this.#undoing.then(() => this.#undo());
    return this.#undoing;
  }

  async #undo(): Promise<void> {
    const last = this.history.at(-1);
    if (!last) return studio.notify("Nothing was answered on this page since it was opened");
    const { question, answer, annotations, before } = last;
    if (!(await last.stored)) return; // it was refused, which a message shows
    if (answer === "flag" || answer === "unflag") {
      if (!(await studio.flag(question.row, answer === "unflag"))) return;
      studio.notify(`Undid: ${answer === "flag" ? "flagged" : "flag taken away"}`);
    } else if (annotations.length) {
      if (!(await studio.undoAnnotations(annotations, before, `Undid: ${described(last)}`))) return;
      this.#times = this.#times.slice(0, -1);
    } else studio.notify(`Back to the question ${answer === "skip" ? "that was skipped" : "of before"}`);
    this.history = this.history.filter((one) => one !== last);
    for (const one of annotations) this.#done.delete(keyOf(one));
    this.#done.delete(keyOf(question));
    this.questions = [question, ...this.questions.filter((other) => keyOf(other) !== keyOf(question))];
    if (answer === "all") await this.load();
  }

  /** Accepts many at once: one action, so one undo. */
  async acceptAll(annotations: AnnotationChange[]): Promise<boolean> {
    const stored = studio.annotate(annotations);
    if (!(await stored)) return false;
    const [first] = annotations;
    if (!first) return true;
    const question: ReviewQuestion = { row: first.row, tag: first.tag, score: null, strength: 0, stated: false, differ: false };
    const before = annotations.map((one) => ({ ...one, value: 0 as const }));
    const decision: Decision = { question: this.current ?? question, answer: "all", annotations, before, stored };
    this.history = [...this.history, decision];
    for (const one of annotations) this.#done.add(keyOf(one));
    this.questions = remaining(this.questions, [], this.#done);
    await this.load();
    return true;
  }

  #annotate(answer: "accept" | "reject", value: 1 | -1): void {
    const question = this.current;
    if (!question) return;
    const { row, tag } = question;
    const annotations: AnnotationChange[] = [{ row, tag, value }];
    const before = [{ row, tag, value: annotationOf(studio.rows.get(row), tag) }];
    const stored = studio.annotate(annotations);
    this.#next({ question, answer, annotations, before, stored });
    this.#times = [...this.#times.slice(-50), performance.now()];
    void stored.then((done) => {
      if (done) return;
      // refused: it was not stored, so the question stands
      this.history = this.history.filter((one) => one.question !== question);
      this.#done.delete(keyOf(question));
      this.questions = [question, ...this.questions];
    });
  }

  #leave(answer: "keep" | "skip"): void {
    const question = this.current;
    if (question) this.#next({ question, answer, annotations: [], before: [], stored: Promise.resolve(true) });
  }

  /** How many questions with at least a score were answered since the counts were asked for. */
  #since(least: number): number {
    return answers(this.history, least) - answers(this.#counted, least);
  }

  #next(decision: Decision): void {
    this.#done.add(keyOf(decision.question));
    this.history = [...this.history, decision];
    this.questions = this.questions.slice(1);
    this.#fetchAhead();
    if (this.questions.length < FEW && !this.loading) void this.load();
  }

  #fetchAhead(): void {
    for (const { row } of this.questions.slice(0, AHEAD)) {
      studio.want(row);
      itemDetails(row).catch(() => undefined);
    }
  }
}

export const review = new Review();
