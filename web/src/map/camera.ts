/** Where the plot is looked at from.
 *
 * The world is -1 to 1 both ways, y upwards; the screen is in CSS pixels, y downwards. */

export interface Camera {
  x: number;
  y: number;
  /** 1 shows the whole world */
  zoom: number;
}
export interface Size {
  width: number;
  height: number;
}

const MARGIN = 0.94;
const NEAREST = 400;
const FARTHEST = 0.5;

export const wholeView = (): Camera => ({ x: 0, y: 0, zoom: 1 });

/** Pixels a unit of the world takes. */
export const scale = (camera: Camera, size: Size): number =>
  (Math.min(size.width, size.height) / 2) * MARGIN * camera.zoom;

export function toScreen(camera: Camera, size: Size, x: number, y: number): [number, number] {
  const unit = scale(camera, size);
  return [size.width / 2 + (x - camera.x) * unit, size.height / 2 - (y - camera.y) * unit];
}

export function toWorld(camera: Camera, size: Size, left: number, top: number): [number, number] {
  const unit = scale(camera, size);
  return [camera.x + (left - size.width / 2) / unit, camera.y - (top - size.height / 2) / unit];
}

/** The world can be pushed aside, but not out of sight. */
const held = (place: number) => Math.min(1.2, Math.max(-1.2, place));

/** Moves the world by pixels. */
export function pan(camera: Camera, size: Size, right: number, down: number): Camera {
  const unit = scale(camera, size);
  return { ...camera, x: held(camera.x - right / unit), y: held(camera.y + down / unit) };
}

/** What can be seen. */
export function inSight(camera: Camera, size: Size): [left: number, right: number, bottom: number, top: number] {
  const unit = scale(camera, size);
  const [across, up] = [size.width / 2 / unit, size.height / 2 / unit];
  return [camera.x - across, camera.x + across, camera.y - up, camera.y + up];
}

/** Shows a box, and something around it. */
export function shown(size: Size, left: number, right: number, bottom: number, top: number): Camera {
  const camera = { x: (left + right) / 2, y: (bottom + top) / 2, zoom: 1 };
  const unit = scale(camera, size);
  const room = Math.min(size.width / Math.max(right - left, 1e-6), size.height / Math.max(top - bottom, 1e-6));
  return { ...camera, zoom: Math.min(NEAREST / 8, Math.max(1, (0.8 * room) / unit)) };
}

/** Comes nearer by a factor; what is under this point of the screen stays there. */
export function zoomAt(camera: Camera, size: Size, factor: number, left: number, top: number): Camera {
  const zoom = Math.min(NEAREST, Math.max(FARTHEST, camera.zoom * factor));
  const [x, y] = toWorld(camera, size, left, top);
  const unit = scale({ ...camera, zoom }, size);
  return { zoom, x: held(x - (left - size.width / 2) / unit), y: held(y + (top - size.height / 2) / unit) };
}
