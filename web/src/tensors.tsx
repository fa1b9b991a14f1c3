// Every tensor with its histogram: the chosen range, saturated values, the grid.
import { useMemo, useState } from "preact/hooks";
import type { Report, Tensor, Weight } from "./data";
import { bytes, count, decibels, real, share } from "./format";
import { List } from "./list";
import { HistogramPlot, type Grid } from "./plots";

type Entry = { name: string; tensor: Tensor } | { name: string; weight: Weight };
type Kind = "all" | "activations" | "weights";

interface Props {
  report: Report;
  selected: string | undefined;
  node: number | undefined; // the node whose tensor to show if the selected value has none
  query: string;
  matches: ReadonlySet<number> | undefined; // nodes that match the search
  theme: string;
  onSelect: (name: string) => void;
}

function clipped(entry: Entry): number {
  return "tensor" in entry ? (entry.tensor.saturated ?? 0) : 0;
}

const values = (entry: Entry): string[] => [entry.name, ...("tensor" in entry ? (entry.tensor.values ?? []) : [])];

const holds = (entry: Entry, name: string): boolean => values(entry).includes(name);

export function Tensors({ report, selected, node, query, matches, theme, onSelect }: Props) {
  const [kind, setKind] = useState<Kind>("all");
  const [worst, setWorst] = useState(false);
  const entries = useMemo(() => {
    const list: Entry[] = [];
    if (kind !== "weights")
      for (const tensor of report.data.tensors) list.push({ name: tensor.name, tensor });
    if (kind !== "activations") for (const weight of report.weights) list.push({ name: weight.name, weight });
    const wanted = query.trim().toLowerCase();
    // Also the inputs and outputs of nodes that match the search.
    const near = new Set([...(matches ?? [])].flatMap((i) => [...report.data.nodes[i]!.out, ...report.data.nodes[i]!.in]));
    const found = list.filter(
      (entry) => entry.name.toLowerCase().includes(wanted) || values(entry).some((name) => near.has(name)),
    );
    return worst ? found.sort((a, b) => clipped(b) - clipped(a)) : found;
  }, [report, kind, worst, query, matches]);
  const at = useMemo(() => {
    const of = node === undefined ? undefined : report.data.nodes[node]!;
    const weights = of?.in.filter((name) => report.weight(name)) ?? [];
    for (const name of [...(selected === undefined ? [] : [selected]), ...(of?.out ?? []), ...weights]) {
      const found = entries.findIndex((entry) => holds(entry, name));
      if (found >= 0) return found;
    }
    return of || entries.length === 0 ? -1 : 0;
  }, [report, entries, selected, node]);
  const shown = entries[at];
  if (report.data.tensors.length + report.weights.length === 0)
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
          <label class="check">
            <input
              type="checkbox"
              checked={worst}
              onChange={(event) => setWorst(event.currentTarget.checked)}
            />{" "}
            most clipped first
          </label>
        </div>
        <List
          label="tensors"
          rows={entries}
          rowHeight={44}
          selected={at}
          onSelect={(row) => onSelect(row.name)}
          render={(row) => (
            <div class="entry">
              <span class="name" title={row.name}>
                {row.name}
              </span>
              <span class="dim">
                {"tensor" in row
                  ? (row.tensor.to ?? `${real(row.tensor.low)} to ${real(row.tensor.high)}`)
                  : `weight, ${row.weight.to ?? "float32"}`}
                {clipped(row) > 0 && <em> {share(clipped(row))} clipped</em>}
              </span>
            </div>
          )}
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

function Logarithmic({ value, onChange }: { value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />{" "}
      logarithmic counts
    </label>
  );
}

export function TensorView({
  tensor,
  theme,
  full = false,
}: {
  tensor: Tensor;
  theme: string;
  full?: boolean;
}) {
  const [logarithmic, setLogarithmic] = useState(true);
  const grid: Grid | undefined = tensor.levels
    ? { low: tensor.grid_low ?? 0, high: tensor.grid_high ?? 0, levels: tensor.levels }
    : undefined;
  return (
    <figure>
      <figcaption>
        <b>{tensor.name}</b> {tensor.to && <span class="dim">{tensor.to}</span>}
      </figcaption>
      {tensor.histogram ? (
        <HistogramPlot
          histogram={tensor.histogram}
          low={tensor.low}
          high={tensor.high}
          grid={grid}
          logarithmic={logarithmic}
          theme={theme}
        />
      ) : (
        <p class="dim">
          {tensor.fixed
            ? "The operator fixes the range: no calibration data needed."
            : tensor.samples === undefined
              ? "No calibration data: the grid is dynamic, or given by the file."
              : "No histogram: the calibration collected none."}
        </p>
      )}
      <dl>
        {tensor.low !== undefined && (
          <>
            <dt title="Values outside saturate">range</dt>
            <dd>
              {real(tensor.low)} to {real(tensor.high)}
            </dd>
          </>
        )}
        {tensor.seen_low !== undefined && (
          <>
            <dt>observed</dt>
            <dd>
              {real(tensor.seen_low)} to {real(tensor.seen_high)}, {tensor.samples} samples
            </dd>
          </>
        )}
        {tensor.saturated !== undefined && (
          <>
            <dt title="Share of the observed values outside of the range">clipped</dt>
            <dd>{share(tensor.saturated)}</dd>
          </>
        )}
        {tensor.levels !== undefined && (
          <>
            <dt title="value = scale · (q − zero point)">grid</dt>
            <dd>
              {tensor.levels.toLocaleString("en")} steps of {real(tensor.scale)}, zero at {tensor.zero_point}
            </dd>
          </>
        )}
        {full && tensor.values && (
          <>
            <dt>shared by</dt>
            <dd class="names">{tensor.values.join(", ")}</dd>
          </>
        )}
      </dl>
      {tensor.histogram && full && <Logarithmic value={logarithmic} onChange={setLogarithmic} />}
    </figure>
  );
}

export function WeightView({
  weight,
  theme,
  full = false,
}: {
  weight: Weight;
  theme: string;
  full?: boolean;
}) {
  const [logarithmic, setLogarithmic] = useState(false);
  const single = weight.scales === 1 && weight.levels !== undefined && weight.scale_low !== undefined;
  const half = (weight.levels ?? 0) / 2;
  const grid: Grid | undefined = single
    ? { low: -half * weight.scale_low!, high: (half - 1) * weight.scale_low!, levels: weight.levels! }
    : undefined;
  return (
    <figure>
      <figcaption>
        <b>{weight.name}</b> <span class="dim">{weight.to ?? "float32"}</span>
      </figcaption>
      {weight.histogram ? (
        <HistogramPlot histogram={weight.histogram} grid={grid} logarithmic={logarithmic} theme={theme} />
      ) : (
        <p class="dim">No histogram.</p>
      )}
      <dl>
        {weight.histogram && (
          <>
            <dt>values</dt>
            <dd>
              {real(weight.histogram.low)} to {real(weight.histogram.high)}
            </dd>
          </>
        )}
        <dt>size</dt>
        <dd>
          {weight.bytes_after === undefined ? (
            bytes(weight.bytes_before)
          ) : (
            <>
              {bytes(weight.bytes_before)} → {bytes(weight.bytes_after)}
            </>
          )}
        </dd>
        {weight.sqnr_db !== undefined && (
          <>
            <dt>SQNR</dt>
            <dd>{decibels(weight.sqnr_db)}</dd>
          </>
        )}
        {weight.scales !== undefined && (
          <>
            <dt>scales</dt>
            <dd>
              {weight.scales === 1
                ? real(weight.scale_low)
                : `${weight.scales.toLocaleString("en")}, ${real(weight.scale_low)} to ${real(weight.scale_high)}`}
            </dd>
          </>
        )}
        {weight.levels !== undefined && (
          <>
            <dt>levels</dt>
            <dd>{weight.levels.toLocaleString("en")}</dd>
          </>
        )}
        {weight.raised !== undefined && (
          <>
            <dt title="Scales that are raised so that the bias fits int32">raised scales</dt>
            <dd>{weight.raised}</dd>
          </>
        )}
        {weight.rounded_for_sums !== undefined && (
          <>
            <dt title="Weights that sum-preserving rounding rounds to the second nearest value">
              rounded for sums
            </dt>
            <dd>{count(weight.rounded_for_sums)}</dd>
          </>
        )}
      </dl>
      {weight.histogram && full && <Logarithmic value={logarithmic} onChange={setLogarithmic} />}
    </figure>
  );
}
