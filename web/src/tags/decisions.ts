/** Going through rows one by one. */

/** The next place after `from` that is still open, or the first one; `from` itself where none is. */
export function nextOpen(open: readonly boolean[], from: number): number {
  for (let step = 1; step <= open.length; step++) {
    const place = (from + step) % open.length;
    if (open[place]) return place;
  }
  return from;
}
