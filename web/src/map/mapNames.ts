/** Which names to ask for: by cells of a grid that is as fine as the map is near, so that names stay where they are. */

import { type Camera, scale, type Size } from "./camera";
import type { Box } from "./pointGrid";

/** Pixels of a cell with a name, and of one with a picture that may be shown: finer than a picture, so that there are
 * some to choose from where names leave little room. */
const NAME = 190;
const PICTURE = 24;
const FINEST = 10;

const level = (camera: Camera, size: Size, pixels: number): number =>
  Math.max(0, Math.round(Math.log2((2 * scale(camera, size)) / pixels)));

/** How fine the grid of names is: 2^level cells a side of the world. */
export const levelFor = (camera: Camera, size: Size): number => Math.min(FINEST, level(camera, size, NAME));

/** Cells a side of the grid of pictures. */
export const spreadFor = (camera: Camera, size: Size): number => 2 ** level(camera, size, PICTURE);

/** The first and last column, the first and last row that can be seen. */
export function cellsInSight([left, right, bottom, top]: Box, fine: number): [number, number, number, number] {
  const side = 2 ** fine;
  const cell = (coordinate: number) => Math.min(side - 1, Math.max(0, Math.floor(((coordinate + 1) / 2) * side)));
  return [cell(left), cell(right), cell(bottom), cell(top)];
}
