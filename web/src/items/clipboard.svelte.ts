/** Tags of an item on their way to others; as text, one a line, they pass between windows and programs. */

import { plural } from "../lib/format";
import { studio } from "../lib/studio.svelte";
import type { AnnotationChange, ItemRow } from "../lib/types";

type Annotations = readonly Pick<AnnotationChange, "tag" | "value">[];

export const copied = $state<{ annotations: Annotations; text: string }>({ annotations: [], text: "" });

const asText = (annotations: Annotations): string =>
  annotations.map(({ tag, value }) => `${value > 0 ? "+" : "-"}${studio.tagName(tag)}`).join("\n");

/** Takes the tags of the open item; their text. */
export function copyTags(): string {
  const item: ItemRow | undefined = studio.selected === null ? undefined : studio.rows.get(studio.selected);
  if (!item?.annotations.length) {
    studio.notify("The open item has no tags to copy");
    return "";
  }
  copied.annotations = item.annotations;
  copied.text = asText(item.annotations);
  studio.notify(`Copied ${plural(item.annotations.length, "tag")} of ${item.title || item.id}`);
  return copied.text;
}

/** Tags named in a text, one a line, with + or - before; names that are no tag are left out. */
export function readTags(text: string): Annotations {
  const known = new Map(studio.offered.map((tag) => [tag.name, tag.tag]));
  return text.split(/\r?\n/).flatMap((line) => {
    const plain = line.trim();
    const signed = /^[+\-−]/.test(plain) && !known.has(plain);
    const tag = known.get(signed ? plain.slice(1).trim() : plain);
    return tag === undefined ? [] : [{ tag, value: signed && !plain.startsWith("+") ? (-1 as const) : (1 as const) }];
  });
}

/** Gives tags to items: one action, so one undo; what they have already is left alone. */
export async function pasteTags(rows: readonly number[], annotations: Annotations): Promise<void> {
  if (!annotations.length) return studio.notify("There are no tags to paste: copy those of an item first");
  const changes = rows.flatMap((row) => {
    const has = new Map(studio.rows.get(row)?.annotations.map(({ tag, value }) => [tag, value]));
    return annotations.filter(({ tag, value }) => has.get(tag) !== value).map((one) => ({ row, ...one }));
  });
  if (changes.length) await studio.annotate(changes);
  else studio.notify("All of these tags are there already");
}
