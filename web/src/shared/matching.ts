/** Which tags fit what somebody has typed so far, and in what order they are offered. */

/** The part of a tag's name before "::", and what comes after it. */
export function nameParts(name: string): { facet: string; rest: string } {
  const end = name.indexOf("::");
  return end > 0 ? { facet: name.slice(0, end), rest: name.slice(end + 2) } : { facet: "", rest: name };
}

/** The facet that a tag is grouped under: what comes before "::", or else before the first "/"; "" for none. */
export function facetOf(name: string): string {
  const end = name.indexOf(name.includes("::") ? "::" : "/");
  return end > 0 ? name.slice(0, end) : "";
}

/** In the order of their facets, and within these of their names; those without a facet come first. */
export function byFacet<Named>(all: readonly Named[], nameOf: (one: Named) => string): Named[] {
  const compare = (a: string, b: string) => a.localeCompare(b, "en");
  return all.toSorted((a, b) => {
    const [first, second] = [nameOf(a), nameOf(b)];
    return compare(facetOf(first), facetOf(second)) || compare(first, second);
  });
}

/** Lower is better; null where the words do not all occur in the name. */
export function fit(name: string, typed: string): number | null {
  const low = name.toLowerCase();
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.every((word) => low.includes(word))) return null;
  const first = words[0];
  if (first === undefined) return 0;
  const { rest } = nameParts(low);
  const whole = words.join(" ");
  if (low === whole || rest === whole) return 0;
  if (rest.startsWith(first)) return 1;
  if (low.startsWith(first)) return 2;
  const at = low.indexOf(first);
  return /[\s:_\-/.]/.test(low[at - 1] ?? "") ? 3 : 4;
}

interface Named {
  name: string;
  /** other names under which it is found */
  synonyms?: readonly string[];
}
export interface Match<Tag> {
  tag: Tag;
  /** lower is better */
  rank: number;
  /** the other name that fits, where its own does not */
  synonym: string | null;
  /** whether it does not fit, and is only near */
  near: boolean;
}

/** How well a tag fits by its name or, after that, by a synonym; null where none does. */
export function fitTag<Tag extends Named>(tag: Tag, typed: string): Match<Tag> | null {
  const own = fit(tag.name, typed);
  if (own !== null) return { tag, rank: own, synonym: null, near: false };
  for (const synonym of tag.synonyms ?? [])
    if (fit(synonym, typed) !== null) return { tag, rank: 5, synonym, near: false };
  return null;
}

/** Changes of letters that make one text of another or of its beginning: missing, added, other, or swapped ones. */
export function distance(typed: string, name: string, most: number): number {
  let before: number[] = [];
  let row = Array.from({ length: name.length + 1 }, (_, place) => place);
  for (let at = 1; at <= typed.length; at++) {
    const next = [at];
    for (let to = 1; to <= name.length; to++) {
      const same = typed[at - 1] === name[to - 1];
      let least = Math.min(row[to - 1]! + (same ? 0 : 1), row[to]! + 1, next[to - 1]! + 1);
      if (at > 1 && to > 1 && typed[at - 1] === name[to - 2] && typed[at - 2] === name[to - 1])
        least = Math.min(least, before[to - 2]! + 1);
      next.push(least);
    }
    if (Math.min(...next) > most) return most + 1;
    [before, row] = [row, next];
  }
  return Math.min(...row);
}

const SHORTEST = 4;
const LONG = 7;

/** Tags that look like a misspelt one, the nearest first. */
function nearest<Tag extends Named>(tags: readonly Tag[], typed: string): Match<Tag>[] {
  const low = typed.trim().toLowerCase();
  if (low.length < SHORTEST) return [];
  const most = low.length < LONG ? 1 : 2;
  const found: Match<Tag>[] = [];
  for (const tag of tags) {
    for (const [place, name] of [tag.name, ...(tag.synonyms ?? [])].entries()) {
      const whole = name.toLowerCase();
      const away = Math.min(distance(low, whole, most), distance(low, nameParts(whole).rest, most));
      if (away > most) continue;
      found.push({ tag, rank: 10 + away, synonym: place ? name : null, near: true });
      break;
    }
  }
  return found.sort((a, b) => a.rank - b.rank);
}

/** The best of these for what was typed, those that are only near after them; equals keep the order they came in. */
export function best<Tag extends Named>(tags: readonly Tag[], typed: string, limit: number): Match<Tag>[] {
  const fits = tags.flatMap((tag) => fitTag(tag, typed) ?? []).sort((a, b) => a.rank - b.rank);
  if (fits.length < 3 && typed.trim()) {
    const found = new Set(fits.map(({ tag }) => tag));
    fits.push(...nearest(tags, typed).filter(({ tag }) => !found.has(tag)));
  }
  return fits.slice(0, limit);
}
