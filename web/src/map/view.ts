/** Where the plot is looked at from, for what is drawn above it. */

import type { Camera, Size } from "./camera";
import type { PointGrid } from "./pointGrid";

export interface View {
  camera: Camera;
  size: Size;
  /** the points that are drawn */
  grid: PointGrid;
  /** whether it is being dragged */
  moving: boolean;
}
