// The path of an edge on the canvas.
import type { Edge } from "./layout";
import type { Point } from "./level";

const CORNER = 6; // radius
const SIMPLE = 0.12; // zoom below which curves are lines
const ARROWS = 0.35;

export function trace(context: CanvasRenderingContext2D, edge: Edge, zoom: number): void {
  const { points } = edge;
  if (points.length < 2) return;
  let [x, y] = points[0]!;
  context.moveTo(x, y);
  for (let i = 1; i < points.length; i += 1) {
    const [nextX, nextY] = points[i]!;
    const after = points[i + 1];
    if (after && turns([x, y], [nextX, nextY], after)) context.arcTo(nextX, nextY, after[0], after[1], CORNER);
    else if (nextX === x || nextY <= y || zoom < SIMPLE) context.lineTo(nextX, nextY);
    else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
    [x, y] = [nextX, nextY];
  }
  if (zoom > ARROWS && edge.arrow) {
    context.moveTo(x - 4, y - 6);
    context.lineTo(x, y);
    context.lineTo(x + 4, y - 6);
  }
}

// A right angle, as edges between columns have them.
function turns(a: Point, b: Point, c: Point): boolean {
  return (a[0] === b[0] && b[1] === c[1]) || (a[1] === b[1] && b[0] === c[0]);
}

export function visible(edge: Edge, [left, top, right, bottom]: [number, number, number, number]): boolean {
  let [inX, inY] = [0, 0]; // bits: something at or beyond each end
  for (const [x, y] of edge.points) {
    inX |= (x <= right ? 1 : 0) | (x >= left ? 2 : 0);
    inY |= (y <= bottom ? 1 : 0) | (y >= top ? 2 : 0);
  }
  return inX === 3 && inY === 3;
}
