// The nodes that stay in float, grouped by reason; a click on a reason opens its nodes.
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GraphNode, Report } from "./data";
import { List } from "./list";

type Reason = { reason: string; count: number; ops: string; open: boolean };
type Row = Reason | { node: GraphNode; index: number };

const ROW = 30; // pixels
const FEW = 60; // nodes that are listed without a click
const OPS = 4;

function ReasonText({ reason, count, ops, open }: Reason) {
  return (
    <div class="reason" aria-expanded={open}>
      <i aria-hidden="true">{open ? "▾" : "▸"}</i> <b>{reason}</b> <span class="dim ops">{ops}</span>{" "}
      <span class="dim">{count.toLocaleString("en")}</span>
    </div>
  );
}

// "Conv 7, Mul 3, …"
function opsOf(nodes: { node: GraphNode }[]): string {
  const counts = new Map<string, number>();
  for (const { node } of nodes) counts.set(node.op, (counts.get(node.op) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const text = most.slice(0, OPS).map(([op, count]) => `${op} ${count}`);
  return [...text, ...(most.length > OPS ? ["…"] : [])].join(", ");
}

// The height of each reason: the list needs it before rendering, and only the browser knows how text wraps.
function useHeights(reasons: Reason[]) {
  const ruler = useRef<HTMLDivElement>(null);
  const [heights, setHeights] = useState(new Map<string, number>());
  useLayoutEffect(() => {
    const element = ruler.current;
    if (!element) return;
    const measure = (): void =>
      setHeights(new Map(reasons.map(({ reason }, i) => [reason, element.children[i]!.clientHeight])));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [reasons]);
  const heightOf = useCallback(
    (row: Row) => ("node" in row ? ROW : Math.max(ROW, heights.get(row.reason) ?? ROW)),
    [heights],
  );
  return { ruler, heightOf };
}

export function Left({
  report,
  selected,
  query,
  onSelect,
}: {
  report: Report;
  selected: number | undefined;
  query: string;
  onSelect: (node: number) => void;
}) {
  const [toggled, setToggled] = useState(new Set<string>());
  const { rows, total } = useMemo(() => {
    const reasons = new Map<string, { node: GraphNode; index: number }[]>();
    const wanted = query.trim().toLowerCase();
    let all = 0;
    report.data.nodes.forEach((node, index) => {
      if (
        node.outcome !== "float" ||
        !`${node.name} ${node.op} ${node.reason ?? ""}`.toLowerCase().includes(wanted)
      )
        return;
      const reason = node.reason ?? "in float in the file";
      reasons.set(reason, [...(reasons.get(reason) ?? []), { node, index }]);
      all += 1;
    });
    const list: Row[] = [];
    for (const [reason, nodes] of [...reasons].sort((a, b) => b[1].length - a[1].length)) {
      const chosen = nodes.some(({ index }) => index === selected);
      const open = toggled.has(reason) !== (all <= FEW || chosen);
      list.push({ reason, count: nodes.length, ops: opsOf(nodes), open });
      if (open) list.push(...nodes);
    }
    return { rows: list, total: all };
  }, [report, query, toggled, selected]);
  const toggle = (reason: string): void => {
    const next = new Set(toggled);
    if (!next.delete(reason)) next.add(reason);
    setToggled(next);
  };
  const reasons = useMemo(() => rows.filter((row) => !("node" in row)) as Reason[], [rows]);
  const { ruler, heightOf } = useHeights(reasons);
  if (!report.data.after)
    return (
      <div class="empty">
        <h3>The model is not quantized</h3>
        <p>
          Calibration only collects ranges. <code>anybit quantize … --report</code> shows the outcome of every
          node.
        </p>
      </div>
    );
  if (total === 0)
    return (
      <div class="empty">
        <h3>{query ? "No node in float matches the search" : "No node is left in float"}</h3>
      </div>
    );
  return (
    <div class="layers">
      <div class="ruler" ref={ruler} aria-hidden="true">
        {reasons.map((one) => (
          <div key={one.reason}>
            <ReasonText {...one} />
          </div>
        ))}
      </div>
      <p class="dim">
        {total.toLocaleString("en")} of {report.data.nodes.length.toLocaleString("en")} nodes stay in float, for{" "}
        {reasons.length} {reasons.length === 1 ? "reason" : "reasons"}.
      </p>
      <List
        label="left"
        rows={rows}
        rowHeight={ROW}
        heightOf={heightOf}
        selected={rows.findIndex((row) => "node" in row && row.index === selected)}
        onSelect={(row) => {
          if ("node" in row) onSelect(row.index);
          else toggle(row.reason);
        }}
        render={(row) =>
          "node" in row ? (
            <div class="leftrow">
              <span class="op">{row.node.op}</span>
              <span class="name" title={row.node.name}>
                {row.node.name || row.node.out[0]}
              </span>
            </div>
          ) : (
            <ReasonText {...row} />
          )
        }
      />
    </div>
  );
}
