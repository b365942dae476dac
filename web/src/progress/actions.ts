/** The log by action: changes that were made together belong together. */

import type { LoggedChange } from "../lib/types";

export interface Action {
  /** its newest change, by which it is known */
  number: number;
  /** tags that came with a file; imports have no number of their own in the log */
  imported: boolean;
  who: string;
  at: string;
  changes: LoggedChange[];
  /** all of it was taken back */
  undone: boolean;
  /** it is itself the undoing of another action */
  undoes: boolean;
}

/** Changes (the newest first) gathered by action, the newest first. */
export function actions(changes: readonly LoggedChange[]): Action[] {
  const found = new Map<string, Action>();
  for (const change of changes) {
    const { number, batch, who, at, undone, undoes } = change;
    const key = batch ? `${batch}` : `import ${at}`;
    const action = found.get(key);
    if (action) {
      action.changes.push(change);
      action.undone &&= undone;
    } else found.set(key, { number, imported: batch === 0, who, at, undone, undoes, changes: [change] });
  }
  return [...found.values()];
}

export const verb = (value: LoggedChange["value"]): string => (value > 0 ? "is" : value < 0 ? "is not" : "withdrawn:");
export const sign = (value: LoggedChange["value"]): string => (value > 0 ? "+" : value < 0 ? "−" : "○");
