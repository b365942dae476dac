/** Arithmetic of a list of which only the visible part is drawn; all rows are equally high. */

export interface Window {
  /** first row drawn, and the one after the last */
  first: number;
  end: number;
}

/** Rows drawn beyond each edge, so that a small scroll shows nothing blank. */
const BEYOND = 6;

export function visible(scrolled: number, height: number, rowHeight: number, rows: number): Window {
  const first = Math.floor(Math.max(0, scrolled) / rowHeight);
  const end = Math.ceil((Math.max(0, scrolled) + height) / rowHeight);
  return { first: Math.max(0, Math.min(first, rows) - BEYOND), end: Math.min(rows, end + BEYOND) };
}

/** Where to scroll so that a row is seen wholly, with one more beside it; where it is already, nothing moves. */
export function reveal(row: number, scrolled: number, height: number, rowHeight: number, rows: number): number {
  const most = Math.max(0, rows * rowHeight - height);
  const margin = height > 3 * rowHeight ? rowHeight : 0;
  const top = row * rowHeight - margin;
  const bottom = (row + 1) * rowHeight + margin - height;
  if (scrolled > top) return Math.max(0, top);
  if (scrolled < bottom) return Math.min(most, bottom);
  return scrolled;
}
