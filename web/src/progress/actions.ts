/** The log by action: changes that were made together are one line. */

import { number, plural } from "../lib/format";
import type { LoggedAction, LoggedChange } from "../lib/types";

export const verb = (value: LoggedChange["value"]): string => (value > 0 ? "is" : value < 0 ? "is not" : "withdrawn:");
export const sign = (value: LoggedChange["value"]): string => (value > 0 ? "+" : value < 0 ? "−" : "○");

/** What was done to tags, with the items that it changed. */
export function ofTags(action: LoggedAction): string {
  const done = action.tags.join(", ");
  return action.moves && action.items ? `${done} (${plural(action.items, "item")})` : done;
}

/** Changes that are shown one by one: not those that follow from what was done to a tag, nor many of one kind. */
export const shownOf = (action: LoggedAction): readonly LoggedChange[] =>
  action.moves || action.same || action.imported ? [] : action.changes;

/** What an action did beside the changes that are shown; "" where that is nothing. */
export function rest(action: LoggedAction): string {
  if (action.moves || action.same) return "";
  if (action.imported) return plural(action.count, "annotation");
  const more = action.count - action.changes.length;
  return more > 0 ? `and ${number(more)} more on ${plural(action.items ?? 0, "item")}, in the same action` : "";
}
