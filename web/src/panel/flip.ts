/** What would change the top tag, in one sentence. */

import type { Flip } from "../lib/types";

export function flipSentence(flip: Flip, name: (tag: number) => string): string {
  const [top, other] = [`“${name(flip.top)}”`, `“${name(flip.runnerUp)}”`];
  if (flip.change <= 0) return `${other} is level with ${top} already.`;
  const needed = flip.change.toFixed(flip.change < 0.1 ? 3 : 2);
  return flip.possible
    ? `Adding ${other} would put it before ${top}: +${needed} is enough, and an annotation counts 1.`
    : `${top} stays first: ${other} would need +${needed}, and an annotation counts 1 at most.`;
}
