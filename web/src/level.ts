// Lays out the boxes of one level, top to bottom, with edges that pass between boxes: dagre places them in bands, and an
// edge crosses each band vertically, at a place that dagre keeps free for it.
import { Graph, layout as dagre } from "@dagrejs/dagre";

export type Point = [number, number];
export interface Size {
  width: number;
  height: number;
}
// A frame is entered and left at its ports, which may not be in the middle of its edges.
export interface Sized extends Size {
  enter?: number; // from its middle
  leave?: number;
}
export interface Box extends Sized {
  x: number; // the centre
  y: number;
}
export interface Level extends Size {
  boxes: Box[];
  routes: Point[][]; // of each link
  bands: [number, number][]; // top and bottom of the rows of boxes
}

const ACROSS = 26;
const BETWEEN = 34;

// `links` go from earlier to later boxes.
export function layLevel(sizes: Sized[], links: [number, number][]): Level {
  if (sizes.length === 0) return { width: 0, height: 0, boxes: [], routes: [], bands: [] };
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: ACROSS, ranksep: BETWEEN, edgesep: 14, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach(({ width, height }, i) => graph.setNode(String(i), { width, height }));
  links.forEach(([from, to], i) => graph.setEdge(String(from), String(to), {}, String(i)));
  dagre(graph);
  const boxes = sizes.map((size, i): Box => {
    const { x, y } = graph.node(String(i)) as { x: number; y: number };
    return { ...size, x, y };
  });
  const rows = rowsOf(boxes);
  const routes = links.map(([from, to], i): Point[] => {
    const { points = [] } = graph.edge(String(from), String(to), String(i)) as {
      points?: { x: number; y: number }[];
    };
    return throughRows(boxes[from]!, boxes[to]!, points.slice(1, -1), rows);
  });
  return withinOrigin(boxes, routes, [...rows.values()].sort((a, b) => a[0] - b[0]));
}

// The rows of boxes by the y coordinate of their middle.
function rowsOf(boxes: Box[]): Map<number, [number, number]> {
  const rows = new Map<number, [number, number]>();
  for (const { y, height } of boxes) {
    const row = rows.get(Math.round(y));
    if (row) {
      row[0] = Math.min(row[0], y - height / 2);
      row[1] = Math.max(row[1], y + height / 2);
    } else rows.set(Math.round(y), [y - height / 2, y + height / 2]);
  }
  return rows;
}

function throughRows(from: Box, to: Box, middle: { x: number; y: number }[], rows: Map<number, [number, number]>): Point[] {
  const [start, end] = [from.x + (from.leave ?? 0), to.x + (to.enter ?? 0)];
  const points: Point[] = [[start, from.y + from.height / 2]];
  const add = (x: number, y: number): void => {
    const [lastX, lastY] = points[points.length - 1]!;
    if (x !== lastX || y > lastY) points.push([x, Math.max(y, lastY)]);
  };
  const own = rows.get(Math.round(from.y));
  if (own) add(start, own[1]);
  for (const { x, y } of middle) {
    const row = rows.get(Math.round(y));
    if (row) {
      add(x, row[0]);
      add(x, row[1]);
    }
  }
  const last = rows.get(Math.round(to.y));
  if (last) add(end, last[0]);
  add(end, to.y - to.height / 2);
  return points;
}

function withinOrigin(boxes: Box[], routes: Point[][], bands: [number, number][]): Level {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    left = Math.min(left, box.x - box.width / 2);
    right = Math.max(right, box.x + box.width / 2);
    top = Math.min(top, box.y - box.height / 2);
    bottom = Math.max(bottom, box.y + box.height / 2);
  }
  for (const route of routes)
    for (const [x] of route) {
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  return {
    width: right - left,
    height: bottom - top,
    boxes: boxes.map((box) => ({ ...box, x: box.x - left, y: box.y - top })),
    routes: routes.map((route) => route.map(([x, y]): Point => [x - left, y - top])),
    bands: bands.map(([from, to]) => [from - top, to - top]),
  };
}
