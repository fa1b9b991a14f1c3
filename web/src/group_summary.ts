// What a closed group's box tells of the nodes in it.
import type { Kind } from "./colors";
import type { Report } from "./data";
import { nodesIn, type Group, type Tree } from "./tree";

export interface GroupSummary {
  nodes: number;
  lowest: number | undefined; // SQNR of its values, dB
  color: string;
  shares: { color: string; count: number }[]; // kinds of its nodes
  ops: [string, number][]; // the most frequent first
}

const MINOR = new Set(["--plain", "--tint"]); // colours that say little: a group takes them only if it has no other

export function summaryOf(tree: Tree, group: Group, report: Report, kinds: Kind[]): GroupSummary {
  const nodes = nodesIn(tree, group);
  const counts = new Map<string, number>();
  const ops = new Map<string, number>();
  let lowest: number | undefined;
  let worst: string | undefined;
  for (const index of nodes) {
    const node = report.data.nodes[index]!;
    const color = kinds[index]?.color ?? "--plain";
    counts.set(color, (counts.get(color) ?? 0) + 1);
    ops.set(node.op, (ops.get(node.op) ?? 0) + 1);
    const dB = report.sqnr(node);
    if (dB === undefined || (lowest !== undefined && dB >= lowest)) continue;
    lowest = dB;
    worst = color;
  }
  const shares = [...counts].map(([color, count]) => ({ color, count })).sort((a, b) => b.count - a.count);
  const main = shares.find((one) => !MINOR.has(one.color)) ?? shares[0];
  const byError = worst !== undefined && worst.startsWith("--error");
  return {
    nodes: nodes.length,
    lowest,
    color: (byError ? worst : main?.color) ?? "--plain",
    shares,
    ops: [...ops].sort((a, b) => b[1] - a[1]),
  };
}

// "24 nodes: Conv 7, Mul 6, …"
export function shareOf({ nodes, ops }: GroupSummary): string {
  return `${nodes.toLocaleString("en")} nodes: ${ops.map(([op, count]) => (count > 1 ? `${op} ${count}` : op)).join(", ")}`;
}
