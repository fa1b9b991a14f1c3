// What the pointer is on.
import type { Kind } from "./colors";
import type { Report } from "./data";
import { decibels } from "./format";
import { shareOf, summaryOf } from "./group_summary";
import type { Placed } from "./layout";
import type { Tree } from "./tree";

interface Props {
  report: Report;
  tree: Tree;
  kinds: Kind[];
  box: Placed;
  x: number;
  y: number;
  width: number;
}

export function GraphTip({ report, tree, kinds, box, x, y, width }: Props) {
  const place = { left: `${Math.max(4, Math.min(x + 14, width - 260))}px`, top: `${y + 14}px` };
  if (box.group) {
    const summary = summaryOf(tree, box.group, report, kinds);
    return (
      <div class="tip" style={place}>
        <b>{box.group.label}</b>
        <div>{shareOf(summary)}</div>
        {summary.lowest !== undefined && <div>lowest SQNR {decibels(summary.lowest)}</div>}
        <div class="dim">double click opens it</div>
      </div>
    );
  }
  const node = report.data.nodes[box.node];
  if (!node) return null;
  return (
    <div class="tip" style={place}>
      <b>{node.op}</b> {node.name}
      <div>{node.to ?? node.outcome ?? ""}</div>
      {report.sqnr(node) !== undefined && <div>SQNR {decibels(report.sqnr(node))}</div>}
      {node.reason && <div class="dim">{node.reason}</div>}
    </div>
  );
}
