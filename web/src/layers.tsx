// The layers, by the harm that they do: a plot of SQNR along the network, and a sorted list with bars.
import { useMemo, useState } from "preact/hooks";
import { errorColor } from "./colors";
import { type Difference, NOTHING_LEFT, type Report } from "./data";
import { DASH, decibels, noisePercent, real, signed } from "./format";
import { harmText, harmsOf } from "./harm";
import { List } from "./list";
import { NoisePlot } from "./noise_plot";
import { runNames } from "./run_name";

interface Props {
  report: Report;
  others: Report[];
  leading: Set<number> | undefined; // nodes that lead to the chosen output
  matches: Set<number> | undefined;
  selected: string | undefined; // a value
  theme: string;
  onSelect: (value: string) => void;
}

type Order = "harm" | "sqnr" | "drop" | "run";
const ORDERS: [Order, string, string][] = [
  ["harm", "Most harm", "The noise that a layer itself adds"],
  ["sqnr", "Lowest SQNR", "Lowest SQNR of quantized layers first"],
  ["drop", "Largest drop", "Largest drop between the inputs and the output of a quantized layer first"],
  ["run", "Execution order", ""],
];

// The noise that the maker of each value adds.
function noiseByValue(report: Report): Map<string, number> {
  return new Map(
    harmsOf(report).flatMap(({ node, noise }) =>
      report.data.nodes[node]!.out.map((value): [string, number] => [value, noise]),
    ),
  );
}

export function Layers({ report, others, leading, matches, selected, theme, onSelect }: Props) {
  const [order, setOrder] = useState<Order>("harm");
  const noises = useMemo(() => [report, ...others].map(noiseByValue), [report, others]);
  const names = useMemo(() => runNames([report, ...others]), [report, others]);
  const runs = useMemo(() => others.map((one, i) => ({ name: names[i + 1]!, layers: one.layers })), [others, names]);
  const rows = useMemo(() => {
    // A float or pass-through node only forwards what others did.
    const guilty = (layer: Difference): boolean => {
      const outcome = report.data.nodes[report.maker.get(layer.name) ?? -1]?.outcome;
      return outcome !== "float" && outcome !== "pass-through";
    };
    const wanted = ({ name }: Difference): boolean => {
      const maker = report.maker.get(name) ?? -1;
      return (!leading || leading.has(maker)) && (!matches || matches.has(maker));
    };
    const noise = (layer: Difference): number => noises[0]!.get(layer.name) ?? 0;
    const list = report.layers.filter((layer) => wanted(layer) && (order === "harm" || order === "run" || guilty(layer)));
    if (order === "harm") list.sort((a, b) => noise(b) - noise(a) || a.sqnr_db - b.sqnr_db);
    if (order === "sqnr") list.sort((a, b) => a.sqnr_db - b.sqnr_db);
    if (order === "drop") list.sort((a, b) => (report.drop(b.name) ?? 0) - (report.drop(a.name) ?? 0));
    return list;
  }, [report, noises, order, leading, matches]);
  const most = useMemo(
    () => Math.max(1e-9, ...noises.flatMap((one) => [...one.values()].filter((noise) => noise < 1e8))),
    [noises],
  );
  if (report.layers.length === 0) return <NoLayers report={report} />;
  const measured = (report.data.sensitivity?.length ?? 0) > 0;
  return (
    <div class="layers">
      <NoisePlot
        layers={report.layers}
        others={runs}
        name={names[0]!}
        selected={selected}
        theme={theme}
        onPick={onSelect}
      />
      <div class="toolbar">
        <div class="choices" role="group" aria-label="Sort by">
          {ORDERS.map(([one, label, title]) => (
            <button key={one} aria-pressed={order === one} title={title} onClick={() => setOrder(one)}>
              {label}
            </button>
          ))}
        </div>
        <span class="dim">
          {rows.length.toLocaleString("en")} values. {measured
            ? `Bars: measured harm at the outputs (1 is what a verdict of ok permits), up to ${harmText(most, true)}`
            : `Bars: the noise that a layer adds, up to ${noisePercent(most)} of the signal`}
        </span>
      </div>
      <div class="head layer" aria-hidden="true">
        <span>value</span>
        <span>operator</span>
        <span>harm</span>
        <span title="Signal-to-quantization-noise ratio">SQNR dB</span>
        <span title="SQNR drop: lowest SQNR of the inputs minus that of the output">drop</span>
        <span>largest error</span>
      </div>
      <List
        label="layers"
        rows={rows}
        rowHeight={others.length > 0 ? 30 + 6 * others.length : 30}
        selected={rows.findIndex((row) => row.name === selected)}
        onSelect={(row) => onSelect(row.name)}
        render={(row) => <LayerRow row={row} report={report} noises={noises} names={names} most={most} measured={measured} others={others} />}
      />
    </div>
  );
}

interface RowProps {
  row: Difference;
  report: Report;
  others: Report[];
  noises: Map<string, number>[];
  names: string[];
  most: number;
  measured: boolean;
}

function LayerRow({ row, report, others, noises, names, most, measured }: RowProps) {
  const drop = report.drop(row.name);
  const dB = row.sqnr_db;
  const lost = dB <= NOTHING_LEFT ? "lost" : signed(`-${drop?.toFixed(1)}`);
  const dropped = drop === undefined ? DASH : drop < 0.05 ? "" : lost;
  const number = (value: number | undefined): string => decibels(value).replace(" dB", "");
  return (
    <div class="layer" title={`${row.name}\ncosine ${row.cosine.toFixed(6)}, largest value ${real(row.largest_value)}`}>
      <span class="name">
        <bdi>{row.name}</bdi>
      </span>
      <span class="dim">{row.op}</span>
      <span class="bars">
        {noises.map((noise, i) => {
          const own = noise.get(row.name) ?? 0;
          const color = noises.length > 1 ? `var(--series-${i % 8})` : `var(${errorColor(dB)})`;
          return (
            <i
              key={names[i]}
              data-noise={own}
              title={`${names[i]}: ${harmText(own, measured)}`}
              style={{ width: `${Math.max(own > 0 ? 0.5 : 0, 100 * Math.min(1, own / most))}%`, background: color }}
            />
          );
        })}
      </span>
      <span class="number">
        {number(dB)}
        {others.length > 0 && <small> {others.map((one) => number(one.layer(row.name)?.sqnr_db)).join(" ")}</small>}
      </span>
      <span class="number dim">{dropped}</span>
      <span class="number dim">{real(row.largest_error)}</span>
    </div>
  );
}

function NoLayers({ report }: { report: Report }) {
  const after = report.data.after?.file ?? "QUANTIZED.onnx";
  const before = report.data.before?.file ?? "FLOAT.onnx";
  return (
    <div class="empty">
      <h3>No layers were compared</h3>
      <p>SQNR needs data to run both models on:</p>
      <pre>
        anybit compare {before} {after} --data SAMPLES --report report.html
      </pre>
      <p class="dim">
        or <code>anybit quantize … --calib SAMPLES --report report.html</code>, which calibrates with them,
        too.
      </p>
    </div>
  );
}
