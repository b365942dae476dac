/** Tags as rows of a list, plain or by facet, searched and sorted. */

import type { Tag } from "../lib/types";
import { facetOf, fitTag } from "../shared/matching";

export type Sort = "name" | "annotated" | "predicted" | "ratio";

export interface FacetRow {
  kind: "facet";
  facet: string;
  open: boolean;
  tags: number;
  is: number;
  predicted: number;
}
export interface TagRow {
  kind: "tag";
  tag: Tag;
  /** below a facet: its name is shown there already */
  nested: boolean;
}
export type ListRow = FacetRow | TagRow;

interface Counted {
  is: number;
  /** null while there are no scores */
  predicted: number | null;
}

/** Suggestions for each item that has the tag: where much is left to do. */
export const ratio = (counted: Counted): number => (counted.predicted ?? 0) / Math.max(counted.is, 1);

function order(sort: Sort): (a: Counted & { name: string }, b: Counted & { name: string }) => number {
  const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name, "en");
  if (sort === "name") return byName;
  const of = sort === "annotated" ? (c: Counted) => c.is : sort === "predicted" ? (c: Counted) => c.predicted ?? 0 : ratio;
  return (a, b) => of(b) - of(a) || byName(a, b);
}

export interface Wish {
  typed: string;
  sort: Sort;
  byFacet: boolean;
  /** facets whose tags are folded away; a search shows them all the same */
  folded: ReadonlySet<string>;
}

export function arrange(tags: readonly Tag[], wish: Wish): ListRow[] {
  const found = tags.filter((tag) => !tag.retired && fitTag(tag, wish.typed) !== null).sort(order(wish.sort));
  if (!wish.byFacet) return found.map((tag) => ({ kind: "tag", tag, nested: false }));
  const facets = new Map<string, Tag[]>();
  for (const tag of found) {
    const facet = facetOf(tag.name);
    const members = facets.get(facet);
    if (members) members.push(tag);
    else facets.set(facet, [tag]);
  }
  const sum = (members: Tag[], key: "is" | "predicted") => members.reduce((total, tag) => total + (tag[key] ?? 0), 0);
  const heads = [...facets].map(([name, members]) => ({
    name, members, is: sum(members, "is"), predicted: sum(members, "predicted"),
  }));
  const rows: ListRow[] = [];
  for (const { name, members, is, predicted } of heads.sort(order(wish.sort))) {
    const open = wish.typed.trim() !== "" || !wish.folded.has(name);
    rows.push({ kind: "facet", facet: name, open, tags: members.length, is, predicted });
    if (open) for (const tag of members) rows.push({ kind: "tag", tag, nested: name !== "" });
  }
  return rows;
}
