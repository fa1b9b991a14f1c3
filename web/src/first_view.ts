// What a reader sees first: as many boxes as fit the screen with readable labels.
import { layoutOf, type Drawing } from "./layout";
import type { View } from "./painter";
import { openAtFirst, type Tree } from "./tree";

export const READABLE = 0.8; // zoom at which labels are easily read
export const LARGEST_AT_FIRST = 1.1;

// The whole network if its labels are readable then; else its beginning.
export function firstView(drawing: Drawing, width: number, height: number): View {
  const whole = Math.min((height - 32) / drawing.height, (width - 32) / drawing.width);
  const k = Math.min(LARGEST_AT_FIRST, Math.max(READABLE, whole));
  const fits = (length: number, room: number): boolean => length * k <= room;
  const first = drawing.boxes[0];
  return {
    x: fits(drawing.width, width) ? (width - drawing.width * k) / 2 : Math.min(16, width / 2 - (first?.x ?? 0) * k),
    y: fits(drawing.height, height) ? (height - drawing.height * k) / 2 : 16,
    k,
  };
}

const BUDGETS = [64, 52, 42, 34, 28, 23, 19, 16, 13, 10, 7]; // boxes

const zoomOf = (drawing: Drawing, width: number, height: number): number =>
  Math.min((height - 24) / drawing.height, (width - 24) / drawing.width);

// The groups that are open at first: the most that fit.
export function fittingAtFirst(tree: Tree, aspect: number, width: number, height: number): Set<string> {
  let open = new Set<string>();
  for (const budget of BUDGETS) {
    const next = openAtFirst(tree, budget);
    if (next.size === open.size && budget !== BUDGETS[0]) continue; // the same drawing as before
    open = next;
    if (open.size === 0 || zoomOf(layoutOf(tree, open, aspect), width, height) >= READABLE) return open;
  }
  return open;
}
