/** What would change the top tag, in one sentence. */

import type { Assignment } from "../lib/types";

export function flipSentence(flip: Assignment["flip"], word: number, name: (tag: number) => string): string {
  if (!flip) return "";
  const [top, other] = [`“${name(flip.top)}”`, `“${name(flip.runnerUp)}”`];
  if (flip.change === null) return `No word on ${other} alone would put it before ${top}.`;
  if (flip.change <= 0) return `${other} is level with ${top} already.`;
  const needed = flip.change.toFixed(flip.change < 0.1 ? 3 : 2);
  if (word + flip.change <= 1)
    return `Saying that it is ${other} would put that before ${top}: ${needed} of a word is enough.`;
  return `${top} is firm: ${other} would need ${needed} more of a word, and one word is at most 1.`;
}
