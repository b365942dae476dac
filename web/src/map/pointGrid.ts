/** Finding points: the nearest to a place, and all within a drawn line. */

const CELLS = 128;

export type Box = [left: number, right: number, bottom: number, top: number];

/** Points by cell of a grid over the world from -1 to 1. */
export class PointGrid {
  readonly #positions: Float32Array;
  /** points by cell, and where each cell begins */
  readonly #sorted: Uint32Array;
  readonly #begins: Uint32Array;

  /** `points`: which of the positions count. */
  constructor(positions: Float32Array, points: Uint32Array) {
    this.#positions = positions;
    this.#begins = new Uint32Array(CELLS * CELLS + 1);
    const cells = new Uint32Array(points.length);
    points.forEach((point, place) => {
      const cell = cellOf(positions[2 * point]!) + CELLS * cellOf(positions[2 * point + 1]!);
      cells[place] = cell;
      this.#begins[cell + 1]! += 1;
    });
    for (let cell = 0; cell < CELLS * CELLS; cell++) this.#begins[cell + 1]! += this.#begins[cell]!;
    const next = this.#begins.slice();
    this.#sorted = new Uint32Array(points.length);
    points.forEach((point, place) => (this.#sorted[next[cells[place]!]!++] = point));
  }

  /** The point nearest to a place, within a radius. */
  nearest(x: number, y: number, radius: number): number | null {
    let found: number | null = null;
    let best = radius * radius;
    const [left, right] = [cellOf(x - radius), cellOf(x + radius)];
    for (let row = cellOf(y - radius); row <= cellOf(y + radius); row++) {
      for (let at = this.#begins[row * CELLS + left]!; at < this.#begins[row * CELLS + right + 1]!; at++) {
        const point = this.#sorted[at]!;
        const across = this.#positions[2 * point]! - x;
        const up = this.#positions[2 * point + 1]! - y;
        const distance = across * across + up * up;
        if (distance > best) continue;
        best = distance;
        found = point;
      }
    }
    return found;
  }

  /** The points of a box from the left to the right and from below, in rising order. */
  inBox([left, right, bottom, top]: Box): number[] {
    const found: number[] = [];
    for (let row = cellOf(bottom); row <= cellOf(top); row++) {
      const end = this.#begins[row * CELLS + cellOf(right) + 1]!;
      for (let at = this.#begins[row * CELLS + cellOf(left)]!; at < end; at++) {
        const point = this.#sorted[at]!;
        const [x, y] = [this.#positions[2 * point]!, this.#positions[2 * point + 1]!];
        if (x >= left && x <= right && y >= bottom && y <= top) found.push(point);
      }
    }
    return found.sort((a, b) => a - b);
  }

  /** One point of each cell of another grid, with so many cells a side of the world: the first. */
  spread(points: readonly number[], side: number): number[] {
    const cell = (coordinate: number) => Math.floor(((coordinate + 1) / 2) * side);
    const first = new Map<number, number>();
    for (const point of points) {
      const key = cell(this.#positions[2 * point]!) + side * cell(this.#positions[2 * point + 1]!);
      if (!first.has(key)) first.set(key, point);
    }
    return [...first.values()];
  }

  /** All points within a closed line (even-odd rule), in rising order. */
  within(line: readonly [number, number][]): number[] {
    if (line.length < 3) return [];
    const xs = line.map(([x]) => x);
    const ys = line.map(([, y]) => y);
    const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const found: number[] = [];
    for (const point of this.#sorted) {
      const x = this.#positions[2 * point]!;
      const y = this.#positions[2 * point + 1]!;
      if (x >= left && x <= right && y >= bottom && y <= top && isWithin(line, x, y)) found.push(point);
    }
    return found.sort((a, b) => a - b);
  }
}

const cellOf = (coordinate: number): number =>
  Math.min(CELLS - 1, Math.max(0, Math.floor(((coordinate + 1) / 2) * CELLS)));

function isWithin(line: readonly [number, number][], x: number, y: number): boolean {
  let inside = false;
  let [fromX, fromY] = line.at(-1)!;
  for (const [toX, toY] of line) {
    if (toY > y !== fromY > y && x < ((fromX - toX) * (y - toY)) / (fromY - toY) + toX) inside = !inside;
    [fromX, fromY] = [toX, toY];
  }
  return inside;
}
