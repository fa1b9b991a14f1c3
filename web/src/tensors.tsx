// Every tensor with its histogram: filters, and the worst first.
import { useMemo, useState } from "preact/hooks";
import type { Report, Tensor, Weight } from "./data";
import { decibels, real, share } from "./format";
import { List } from "./list";
import { TensorView, WeightView } from "./tensor_view";

type Entry = { name: string; tensor: Tensor } | { name: string; weight: Weight };
type Kind = "all" | "activations" | "weights";
type Order = "run" | "sqnr" | "clipped" | "wide";

interface Props {
  report: Report;
  selected: string | undefined;
  node: number | undefined; // the node whose tensor to show if the selected value has none
  query: string;
  matches: ReadonlySet<number> | undefined; // nodes that match the search
  theme: string;
  onSelect: (name: string) => void;
}

const clipped = (entry: Entry): number => ("tensor" in entry ? (entry.tensor.saturated ?? 0) : 0);
const formatOf = (entry: Entry): string =>
  ("tensor" in entry ? entry.tensor.to : entry.weight.to)?.split(" ")[0] ?? "float32";
const values = (entry: Entry): string[] => [entry.name, ...("tensor" in entry ? (entry.tensor.values ?? []) : [])];

function sqnrOf(report: Report, entry: Entry): number | undefined {
  if ("weight" in entry) return entry.weight.sqnr_db;
  const known = values(entry).map((name) => report.layer(name)?.sqnr_db).filter((one) => one !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

// How many steps of the grid lie between the ends of most values: few if a rare value stretches the range.
function usedShare(entry: Entry): number {
  const { histogram } = "tensor" in entry ? entry.tensor : entry.weight;
  if (!histogram || histogram.high <= histogram.low) return 1;
  const whole = histogram.counts.reduce((sum, one) => sum + one, 0);
  let [left, right] = [0, histogram.counts.length - 1];
  for (let seen = 0; left < right && (seen += histogram.counts[left]!) < whole * 0.0005; ) left += 1;
  for (let seen = 0; left < right && (seen += histogram.counts[right]!) < whole * 0.0005; ) right -= 1;
  return (right - left + 1) / histogram.counts.length;
}

// Where the entry is made, or first used.
function placeOf(report: Report, entry: Entry): number {
  const places = values(entry).map((name) =>
    "weight" in entry ? report.users.get(name)?.[0] : (report.maker.get(name) ?? -1),
  );
  return Math.min(...places.map((place) => place ?? Infinity));
}

function sorted(report: Report, entries: Entry[], order: Order): Entry[] {
  const key = (entry: Entry): number =>
    order === "run" ? placeOf(report, entry) : order === "sqnr" ? (sqnrOf(report, entry) ?? Infinity) : order === "clipped" ? -clipped(entry) : usedShare(entry);
  const keys = new Map(entries.map((entry) => [entry, key(entry)]));
  return [...entries].sort((a, b) => keys.get(a)! - keys.get(b)! || 0);
}

export function Tensors({ report, selected, node, query, matches, theme, onSelect }: Props) {
  const [kind, setKind] = useState<Kind>("all");
  const [order, setOrder] = useState<Order>("run");
  const [format, setFormat] = useState("");
  const all = useMemo(() => {
    const list: Entry[] = report.data.tensors.map((tensor) => ({ name: tensor.name, tensor }));
    for (const weight of report.weights) list.push({ name: weight.name, weight });
    return list;
  }, [report]);
  const formats = useMemo(() => [...new Set(all.map(formatOf))].sort(), [all]);
  const entries = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    // Also the inputs and outputs of nodes that match the search.
    const near = new Set([...(matches ?? [])].flatMap((i) => [...report.data.nodes[i]!.out, ...report.data.nodes[i]!.in]));
    const found = all.filter(
      (entry) =>
        (kind === "all" || (kind === "weights") === "weight" in entry) &&
        (format === "" || formatOf(entry) === format) &&
        (entry.name.toLowerCase().includes(wanted) || values(entry).some((name) => near.has(name))),
    );
    return sorted(report, found, order);
  }, [report, all, kind, format, order, query, matches]);
  const at = useMemo(() => {
    const of = node === undefined ? undefined : report.data.nodes[node]!;
    const weights = of?.in.filter((name) => report.weight(name)) ?? [];
    for (const name of [...(selected === undefined ? [] : [selected]), ...(of?.out ?? []), ...weights]) {
      const found = entries.findIndex((entry) => values(entry).includes(name));
      if (found >= 0) return found;
    }
    return of || entries.length === 0 ? -1 : 0;
  }, [report, entries, selected, node]);
  const shown = entries[at];
  if (all.length === 0)
    return (
      <div class="empty">
        <h3>No tensor was quantized</h3>
        <p>The report has neither ranges nor weights.</p>
      </div>
    );
  return (
    <div class="split">
      <div class="column">
        <div class="toolbar">
          <div class="choices" role="group" aria-label="Which tensors">
            {(["all", "activations", "weights"] as const).map((one) => (
              <button key={one} aria-pressed={kind === one} onClick={() => setKind(one)}>
                {one[0]!.toUpperCase() + one.slice(1)}
              </button>
            ))}
          </div>
          <select aria-label="Order" value={order} onChange={(event) => setOrder(event.currentTarget.value as Order)}>
            <option value="run">execution order</option>
            <option value="sqnr">lowest SQNR first</option>
            <option value="clipped">most clipped first</option>
            <option value="wide">most outliers first</option>
          </select>
          {formats.length > 1 && (
            <select aria-label="Format" value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
              <option value="">every format</option>
              {formats.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </div>
        <List
          label="tensors"
          rows={entries}
          rowHeight={44}
          selected={at}
          onSelect={(row) => onSelect(row.name)}
          render={(row) => <EntryRow row={row} sqnr={sqnrOf(report, row)} />}
        />
      </div>
      <div class="column detail">
        {entries.length === 0 && <p class="dim">No tensor matches the search.</p>}
        {!shown && entries.length > 0 && node !== undefined && (
          <p class="dim">
            The output of this node has no grid of its own, and no weight of it is in this list. Its panel shows
            its outcome.
          </p>
        )}
        {shown && "tensor" in shown && <TensorView tensor={shown.tensor} theme={theme} full />}
        {shown && "weight" in shown && <WeightView weight={shown.weight} theme={theme} full />}
      </div>
    </div>
  );
}

function EntryRow({ row, sqnr }: { row: Entry; sqnr: number | undefined }) {
  const about =
    "tensor" in row
      ? (row.tensor.to ?? `${real(row.tensor.low)} to ${real(row.tensor.high)}`)
      : `weight, ${row.weight.to ?? "float32"}`;
  return (
    <div class="entry">
      <span class="name" title={row.name}>
        {row.name}
      </span>
      <span class="dim">
        {about}
        {sqnr !== undefined && ` · ${decibels(sqnr)}`}
        {clipped(row) > 0 && <em> {share(clipped(row))} clipped</em>}
      </span>
    </div>
  );
}
