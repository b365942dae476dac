/** Parts of a text, of which those that are a term are to be marked; whole, in any case. */
export function withMarks(text: string, terms: readonly string[]): { part: string; mark: boolean }[] {
  const escaped = terms.filter(Boolean).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  if (!escaped.length || !text) return [{ part: text, mark: false }];
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  // a split by a pattern with one group has the matches at odd places
  return text.split(found).map((part, place) => ({ part, mark: place % 2 === 1 })).filter(({ part }) => part);
}
