// A layered layout in linear time, for pieces that are too large for dagre: a box lies below its predecessors, near
// the centre of its neighbours.
import { NODE_WIDTH, type PieceLayout } from "./layout";

const SWEEPS = 4;
const ACROSS = 28;
const BETWEEN = 44;

export function simpleLayers(heights: number[], links: [number, number][]): PieceLayout {
  const rank = new Array<number>(heights.length).fill(0);
  const above: number[][] = heights.map(() => []);
  const below: number[][] = heights.map(() => []);
  for (const [from, to] of links) {
    above[to]!.push(from);
    below[from]!.push(to);
  }
  // Boxes are in topological order.
  heights.forEach((_, i) => {
    for (const next of below[i]!) rank[next] = Math.max(rank[next]!, rank[i]! + 1);
  });
  const rows: number[][] = [];
  rank.forEach((r, i) => {
    (rows[r] ??= []).push(i);
  });

  const x = new Array<number>(heights.length).fill(0);
  const spread = (row: number[]): void => {
    const middle = row.reduce((sum, i) => sum + x[i]!, 0) / row.length;
    row.forEach((i, k) => {
      x[i] = middle + (k - (row.length - 1) / 2) * (NODE_WIDTH + ACROSS);
    });
  };
  for (const row of rows) spread(row);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const wish = new Map(
        row.map((i) => {
          const tied = down ? above[i]! : below[i]!;
          return [i, tied.length ? tied.reduce((sum, k) => sum + x[k]!, 0) / tied.length : x[i]!] as const;
        }),
      );
      for (const i of row) x[i] = wish.get(i)!;
      row.sort((a, b) => x[a]! - x[b]!);
      spread(row);
    }
  }
  const y = new Array<number>(heights.length).fill(0);
  let top = 0;
  for (const row of rows) {
    for (const i of row) y[i] = top + heights[i]! / 2;
    top += Math.max(...row.map((i) => heights[i]!)) + BETWEEN;
  }
  return { middles: heights.map((_, i) => [x[i]!, y[i]!]), routes: links.map(() => []) };
}
