/** What the points of the map are coloured by; other views may set it and then show the map. */

class Colouring {
  /** the scores of one tag; null: the top tag of each item */
  tag = $state<number | null>(null);
}

export const colouring = new Colouring();
