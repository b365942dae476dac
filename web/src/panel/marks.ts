/** What is marked in a text, and which parts of it are addresses. */

export interface Part {
  part: string;
  mark: boolean;
  /** where it leads; only addresses of the web do */
  href?: string;
}

const ADDRESS = /(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}])/giu;
const WHOLE = ["(?<![\\p{L}\\p{N}])", "(?![\\p{L}\\p{N}])"] as const;

/** Parts of a text, of which those that are a term are to be marked, in any case; `whole`: no parts of words. */
export function withMarks(text: string, terms: readonly string[], whole = true): Part[] {
  const escaped = terms
    .filter(Boolean)
    .toSorted((a, b) => b.length - a.length)
    .map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  if (!escaped.length || !text) return [{ part: text, mark: false }];
  const [before, after] = whole ? WHOLE : ["", ""];
  const found = new RegExp(`${before}(${escaped.join("|")})${after}`, "giu");
  // a split by a pattern with one group has the matches at odd places
  return text.split(found).map((part, place) => ({ part, mark: place % 2 === 1 })).filter(({ part }) => part);
}

/** The same with addresses as parts of their own. */
export const withLinks = (text: string, terms: readonly string[], whole = true): Part[] =>
  text
    .split(ADDRESS)
    .flatMap((part, place) =>
      place % 2 ? { part, mark: withMarks(part, terms, whole).some(({ mark }) => mark), href: part } : withMarks(part, terms, whole),
    )
    .filter(({ part }) => part);
