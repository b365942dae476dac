/** The log in words: changes that were made in one action belong together. */

import type { Change } from "../lib/types";

export interface Action {
  batch: number;
  who: string;
  at: string;
  changes: Change[];
  /** all of it was taken back */
  undone: boolean;
  /** it is itself the undoing of another action */
  undoes: boolean;
}

/** Changes gathered by action, the newest first. */
export function actions(changes: readonly Change[]): Action[] {
  const found = new Map<number, Action>();
  for (const change of changes) {
    const action = found.get(change.batch);
    if (action) {
      action.changes.push(change);
      action.undone &&= change.undone;
    } else {
      const { batch, who, at, undone, undoes } = change;
      found.set(batch, { batch, who, at, undone, undoes, changes: [change] });
    }
  }
  return [...found.values()].sort((a, b) => b.batch - a.batch);
}

export const verb = (value: Change["value"]): string => (value > 0 ? "is" : value < 0 ? "is not" : "withdrawn:");
export const sign = (value: Change["value"]): string => (value > 0 ? "+" : value < 0 ? "−" : "○");
