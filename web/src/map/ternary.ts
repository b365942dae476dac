/** Three tags as the corners of a triangle; an item lies nearer to those it has more of. */

import { categoryColours, parse } from "../charts/palette";
import type { Paint } from "./painting";

/** Corners within the world of -1 to 1: above, left, right. */
export const CORNERS: readonly [number, number][] = [
  [0, 0.85],
  [-0.9, -0.709],
  [0.9, -0.709],
];
/** Items that have less than this of the three together are left out. */
const LEAST = 0.05;
/** Items with the very same shares are spread out as far as this. */
const SPREAD = 0.035;
const TURN = Math.PI * (3 - Math.sqrt(5));

export interface Triangle extends Paint {
  positions: Float32Array;
  leftOut: number;
}

export function triangle(shares: Float32Array, dark: boolean): Triangle {
  const items = Math.floor(shares.length / 3);
  const positions = new Float32Array(2 * items);
  const colours = new Uint8Array(4 * items);
  const palette = categoryColours(dark).map(parse);
  const drawn: number[] = [];
  for (let item = 0; item < items; item++) {
    const three = [shares[3 * item]!, shares[3 * item + 1]!, shares[3 * item + 2]!];
    const sum = three[0]! + three[1]! + three[2]!;
    if (!(sum >= LEAST)) continue;
    drawn.push(item);
    // Many items have the same shares (all of one tag, for example): a fixed turn for each item keeps them apart,
    // and in the same place whenever they are drawn.
    const away = SPREAD * Math.sqrt(((item * 0.754877666) % 1) + 0.02);
    let x = away * Math.cos(item * TURN);
    let y = away * Math.sin(item * TURN);
    three.forEach((share, corner) => {
      x += (share / sum) * CORNERS[corner]![0];
      y += (share / sum) * CORNERS[corner]![1];
    });
    positions.set([x, y], 2 * item);
    const largest = three.indexOf(Math.max(...three));
    colours.set(palette[largest]!, 4 * item);
    colours[4 * item + 3] = Math.round(70 + 160 * Math.min(1, sum));
  }
  return { positions, colours, order: Uint32Array.from(drawn), leftOut: items - drawn.length };
}
