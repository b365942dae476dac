/** Keeps the address and the app in step, both ways. */

import { untrack } from "svelte";
import { listing } from "../items/listing.svelte";
import { read, written, type Place } from "./address";
import { review } from "../review/review.svelte";
import { studio } from "./studio.svelte";

let jumped = false;

/** Opens an item so that "back" returns to the one before; steps through the list leave no entry in the history. */
export function open(row: number): void {
  jumped = true;
  studio.selected = row;
  studio.view = "items";
  studio.openings += 1;
}

const here = (): Place => ({
  view: studio.view,
  item: studio.selected,
  tag: studio.view === "tags" ? studio.tag : null,
  query: listing.query,
  review: review.place,
});

/** Takes over what the address holds; returns whether the list must be asked for again. */
export function follow(hash: string): boolean {
  const place = read(hash);
  const before = written({ ...here(), view: "items", item: null });
  // an address that was followed to an item opens it; the first one of a page is that of the list
  const another = studio.selected !== null && place.item !== studio.selected;
  if (place.view === "items" && place.item !== null && (studio.view !== "items" || another)) studio.openings += 1;
  studio.view = place.view;
  if (place.item !== null) studio.selected = place.item;
  if (place.view === "tags") studio.tag = place.tag;
  review.place = place.review ?? "";
  listing.text = place.query.text ?? "";
  listing.filter = place.query.filter ?? "all";
  listing.conditions = place.query.conditions ?? [];
  listing.sort = place.query.sort ?? "found";
  listing.backwards = place.query.backwards ?? false;
  return before !== written({ ...here(), view: "items", item: null });
}

/** Called in a component: writes the address whenever something it holds changes. */
export function keepAddress(): void {
  $effect(() => {
    const hash = written(here());
    untrack(() => {
      if (hash === location.hash) return;
      const [from, to] = [read(location.hash), here()];
      const elsewhere = from.view !== to.view || from.tag !== to.tag || from.query.filter !== to.query.filter;
      const fresh = location.hash !== "" && (jumped || elsewhere);
      jumped = false;
      history[fresh ? "pushState" : "replaceState"](null, "", hash);
    });
  });
}
