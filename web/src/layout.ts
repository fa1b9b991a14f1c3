// Graph layout. A chain becomes one tall box. The graph is cut at boxes that all paths pass through, and dagre lays
// out each piece. Identical pieces (the layers of a transformer) are laid out once, so the time is linear in the
// length of the network.
import { Graph, layout as dagre } from "@dagrejs/dagre";
import type { Report } from "./data";
import { simpleLayers } from "./simple_layers";

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 36;
const GAP = 18; // between nodes of a chain
const LARGEST_PIECE = 160; // boxes per call of dagre

export interface Placed {
  node: number; // in the report; -1: an input or output of the model
  label: string;
  x: number; // the centre
  y: number;
}
export interface Edge {
  from: number;
  to: number;
  points: [number, number][];
  far: boolean;
}
export interface Drawing {
  boxes: Placed[];
  edges: Edge[];
  width: number;
  height: number;
  left: number;
}

interface Link {
  from: number;
  to: number;
  far: boolean;
}

// Nodes and the model's inputs and outputs, in topological order.
function itemsAndLinks(report: Report): { items: { node: number; label: string }[]; links: Link[] } {
  const nodes = report.data.nodes;
  const items: { node: number; label: string }[] = [];
  const links: Link[] = [];
  const place = new Map<string, number>();
  const inputs = new Set(report.data.inputs ?? []);
  const outputs = new Set(report.data.outputs ?? []);
  const ways = new Map<string, Link[]>();
  const link = (value: string, to: number): void => {
    const from = place.get(value);
    if (from === undefined || from >= to) return;
    const list = ways.get(value) ?? [];
    ways.set(value, list);
    const one = { from, to, far: list.length > 0 && to - from > 40 };
    list.push(one);
    links.push(one);
  };
  nodes.forEach((node, index) => {
    for (const value of node.in) {
      if (!inputs.has(value) || place.has(value)) continue;
      place.set(value, items.length);
      items.push({ node: -1, label: value });
    }
    const at = items.length;
    items.push({ node: index, label: node.op });
    for (const value of new Set(node.in)) link(value, at);
    for (const value of node.out) if (value) place.set(value, at);
    for (const value of node.out) {
      if (!outputs.has(value)) continue;
      items.push({ node: -1, label: value });
      link(value, items.length - 1);
    }
  });
  // Long edges of values with few consumers stay (skip connections of a U-Net); those of a mask that every layer reads
  // are hidden.
  for (const list of ways.values()) if (list.length < 4) for (const one of list) one.far = false;
  return { items, links };
}

interface Chain {
  members: number[];
  next: number[];
}

function chainsOf(count: number, links: Link[]): { chains: Chain[]; chainOf: number[] } {
  const near = links.filter((link) => !link.far);
  const outs = new Array<number>(count).fill(0);
  const ins = new Array<number>(count).fill(0);
  const before = new Array<number>(count).fill(-1);
  for (const { from, to } of near) {
    outs[from]! += 1;
    ins[to]! += 1;
    before[to] = from;
  }
  const chainOf = new Array<number>(count).fill(-1);
  const chains: Chain[] = [];
  for (let i = 0; i < count; i += 1) {
    const parent = before[i]!;
    if (ins[i] === 1 && outs[parent] === 1) {
      chainOf[i] = chainOf[parent]!;
      chains[chainOf[i]!]!.members.push(i);
    } else {
      chainOf[i] = chains.length;
      chains.push({ members: [i], next: [] });
    }
  }
  for (const { from, to } of near)
    if (chainOf[from] !== chainOf[to]) chains[chainOf[from]!]!.next.push(chainOf[to]!);
  return { chains, chainOf };
}

// Chains in topological order, the earliest first.
function ordered(chains: Chain[]): number[] {
  const waiting = new Array<number>(chains.length).fill(0);
  for (const chain of chains) for (const next of chain.next) waiting[next]! += 1;
  const order: number[] = [];
  const ready: number[] = [];
  for (let i = chains.length - 1; i >= 0; i -= 1) if (waiting[i] === 0) ready.push(i);
  while (ready.length > 0) {
    const one = ready.pop()!;
    order.push(one);
    for (const next of chains[one]!.next) {
      waiting[next]! -= 1;
      if (waiting[next] === 0) ready.push(next);
    }
    if (ready.length > 1) ready.sort((a, b) => chains[b]!.members[0]! - chains[a]!.members[0]!);
  }
  return order;
}

const heightOf = (chain: Chain): number => chain.members.length * (NODE_HEIGHT + GAP) - GAP;

export interface PieceLayout {
  middles: [number, number][];
  routes: [number, number][][];
}

function dagrePiece(heights: number[], links: [number, number][]): PieceLayout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 40, edgesep: 16, ranker: "longest-path" });
  graph.setDefaultEdgeLabel(() => ({}));
  heights.forEach((height, i) => graph.setNode(String(i), { width: NODE_WIDTH, height }));
  links.forEach(([from, to], i) => graph.setEdge(String(from), String(to), {}, String(i)));
  dagre(graph);
  return {
    middles: heights.map((_, i) => {
      const { x, y } = graph.node(String(i)) as { x: number; y: number };
      return [x, y];
    }),
    routes: links.map(([from, to], i) => {
      const edge = graph.edge(String(from), String(to), String(i)) as { points?: { x: number; y: number }[] };
      return (edge.points ?? []).map(({ x, y }): [number, number] => [x, y]);
    }),
  };
}

export function layoutOf(report: Report): Drawing {
  const { items, links } = itemsAndLinks(report);
  const { chains, chainOf } = chainsOf(items.length, links);
  const order = ordered(chains);
  const at = new Array<number>(chains.length).fill(-1);
  order.forEach((chain, i) => {
    at[chain] = i;
  });

  // A chain that no link skips separates two pieces.
  let reach = 0;
  const cuts: number[] = [];
  order.forEach((chain, i) => {
    if (i >= reach) cuts.push(i);
    for (const next of chains[chain]!.next) reach = Math.max(reach, at[next]!);
  });
  if (cuts[cuts.length - 1] !== order.length - 1) cuts.push(order.length - 1);

  const middle = new Array<[number, number]>(chains.length);
  const routes = new Map<string, [number, number][]>();
  const cache = new Map<string, PieceLayout>();
  for (let k = 0; k + 1 < cuts.length || (k === 0 && order.length > 0); k += 1) {
    const first = cuts[k]!;
    const last = cuts[k + 1] ?? first;
    const piece = order.slice(first, last + 1);
    const heights = piece.map((chain) => heightOf(chains[chain]!));
    const inside: [number, number][] = [];
    for (const chain of piece)
      for (const next of chains[chain]!.next)
        if (at[next]! <= last) inside.push([at[chain]! - first, at[next]! - first]);
    const key = `${heights.join()};${inside.join()}`;
    let made = cache.get(key);
    if (!made) {
      made = piece.length > LARGEST_PIECE ? simpleLayers(heights, inside) : dagrePiece(heights, inside);
      cache.set(key, made);
    }
    const start = middle[piece[0]!];
    const dx = start ? start[0] - made.middles[0]![0] : 0;
    const dy = start ? start[1] - made.middles[0]![1] : 0;
    piece.forEach((chain, i) => {
      const [x, y] = made.middles[i]!;
      middle[chain] = [x + dx, y + dy];
    });
    inside.forEach(([from, to], i) => {
      const points = made.routes[i]!.map(([x, y]): [number, number] => [x + dx, y + dy]);
      routes.set(`${piece[from]!},${piece[to]!}`, points);
    });
    if (cuts.length === 1) break;
  }
  return assemble(items, links, chains, chainOf, middle, routes);
}

function assemble(
  items: { node: number; label: string }[],
  links: Link[],
  chains: Chain[],
  chainOf: number[],
  middle: [number, number][],
  routes: Map<string, [number, number][]>,
): Drawing {
  const boxes: Placed[] = items.map(({ node, label }) => ({ node, label, x: 0, y: 0 }));
  chains.forEach((chain, index) => {
    const [x, y] = middle[index] ?? [0, 0];
    const top = y - heightOf(chain) / 2 + NODE_HEIGHT / 2;
    chain.members.forEach((member, i) => {
      boxes[member]!.x = x;
      boxes[member]!.y = top + i * (NODE_HEIGHT + GAP);
    });
  });
  const edges = links.map(({ from, to, far }): Edge => {
    const a = boxes[from]!;
    const b = boxes[to]!;
    const bends = far ? [] : (routes.get(`${chainOf[from]!},${chainOf[to]!}`) ?? []).slice(1, -1);
    return { from, to, far, points: [[a.x, a.y + NODE_HEIGHT / 2], ...bends, [b.x, b.y - NODE_HEIGHT / 2]] };
  });
  let left = Infinity,
    right = -Infinity,
    top = Infinity,
    bottom = -Infinity;
  for (const { x, y } of boxes) {
    left = Math.min(left, x - NODE_WIDTH / 2);
    right = Math.max(right, x + NODE_WIDTH / 2);
    top = Math.min(top, y - NODE_HEIGHT / 2);
    bottom = Math.max(bottom, y + NODE_HEIGHT / 2);
  }
  if (boxes.length === 0) return { boxes, edges, width: 0, height: 0, left: 0 };
  for (const box of boxes) box.y -= top;
  for (const edge of edges) for (const point of edge.points) point[1] -= top;
  return { boxes, edges, width: right - left, height: bottom - top, left };
}
