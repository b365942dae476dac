/** Which tags fit what somebody has typed so far, and in what order they are offered. */

/** The part of a tag's name before "::", and what comes after it. */
export function nameParts(name: string): { facet: string; rest: string } {
  const end = name.indexOf("::");
  return end > 0 ? { facet: name.slice(0, end), rest: name.slice(end + 2) } : { facet: "", rest: name };
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

/** The best of these for what was typed; among equals they keep the order they came in. */
export function best<Named extends { name: string }>(tags: readonly Named[], typed: string, limit: number): Named[] {
  const fits: { tag: Named; rank: number }[] = [];
  for (const tag of tags) {
    const rank = fit(tag.name, typed);
    if (rank !== null) fits.push({ tag, rank });
  }
  return fits
    .sort((a, b) => a.rank - b.rank)
    .slice(0, limit)
    .map(({ tag }) => tag);
}
