/** What the points of the map are coloured by; other views may set it and then show the map. */

export type By = "top" | "score" | "tags" | "who" | "when";

class Colouring {
  by = $state<By>("top");
  /** whose scores are shown */
  tag = $state<number | null>(null);

  score(tag: number): void {
    this.tag = tag;
    this.by = "score";
  }
}

export const colouring = new Colouring();
