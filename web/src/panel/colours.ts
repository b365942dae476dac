/** A colour for each tag of the model details: as light as the accent, neighbours far apart on the circle of hues. */

const GOLDEN = 137.5;

export const colour = (place: number): string =>
  `oklch(from var(--accent) l max(c, 0.1) calc(h + ${(place * GOLDEN) % 360}))`;

/** The same, pale, so that text can be read on it. */
export const pale = (place: number): string => `color-mix(in oklab, ${colour(place)} 38%, var(--panel))`;
