// SQNR of the layers: a plot along the network, and a sorted list.
import { useMemo, useState } from "preact/hooks";
import { errorColor } from "./colors";
import { type Difference, NOTHING_LEFT, type Report } from "./data";
import { DASH, decibels, real } from "./format";
import { List } from "./list";
import { NoisePlot } from "./plots";

interface Props {
  report: Report;
  other: Report | undefined;
  selected: string | undefined; // a value
  theme: string;
  onSelect: (value: string) => void;
}

type Order = "sqnr" | "drop" | "run";

export function Layers({ report, other, selected, theme, onSelect }: Props) {
  const [order, setOrder] = useState<Order>("sqnr");
  const rows = useMemo(() => {
    const list = [...report.layers];
    if (order === "sqnr") list.sort((a, b) => a.sqnr_db - b.sqnr_db);
    if (order === "drop") list.sort((a, b) => (report.drop(b.name) ?? 0) - (report.drop(a.name) ?? 0));
    return list;
  }, [report, order]);
  if (report.layers.length === 0) return <NoLayers report={report} />;
  return (
    <div class="layers">
      <NoisePlot
        layers={report.layers}
        other={other?.layers}
        selected={selected}
        theme={theme}
        onPick={onSelect}
      />
      <div class="toolbar">
        <div class="choices" role="group" aria-label="Sort by">
          <button
            aria-pressed={order === "sqnr"}
            title="Lowest SQNR first"
            onClick={() => setOrder("sqnr")}
          >
            Lowest SQNR
          </button>
          <button
            aria-pressed={order === "drop"}
            title="Largest drop between the inputs and the output of a node first"
            onClick={() => setOrder("drop")}
          >
            Largest drop
          </button>
          <button aria-pressed={order === "run"} onClick={() => setOrder("run")}>
            Execution order
          </button>
        </div>
        <span class="dim">{report.layers.length.toLocaleString("en")} values that both models have</span>
      </div>
      <div class="head layer" aria-hidden="true">
        <span>value</span>
        <span>operator</span>
        <span title="Signal-to-quantization-noise ratio">SQNR dB</span>
        {other ? (
          <span title="SQNR in the other report">other report</span>
        ) : (
          <span title="SQNR drop: lowest SQNR of the inputs minus that of the output">drop</span>
        )}
        <span>largest error</span>
      </div>
      <List
        label="layers"
        rows={rows}
        rowHeight={30}
        selected={rows.findIndex((row) => row.name === selected)}
        onSelect={(row) => onSelect(row.name)}
        render={(row) => <LayerRow row={row} report={report} other={other} />}
      />
    </div>
  );
}

function LayerRow({ row, report, other }: { row: Difference; report: Report; other: Report | undefined }) {
  const drop = report.drop(row.name);
  const dB = row.sqnr_db;
  const lost = dB <= NOTHING_LEFT ? "lost" : `−${drop?.toFixed(1)}`;
  const added = drop === undefined ? DASH : drop < 0.05 ? "" : lost;
  return (
    <div
      class="layer"
      title={`${row.name}\ncosine ${row.cosine.toFixed(6)}, largest value ${real(row.largest_value)}`}
    >
      <i
        class="bar"
        style={{ width: `${100 * Math.max(0, Math.min(1, dB / 60))}%`, background: `var(${errorColor(dB)})` }}
      />
      <span class="name">{row.name}</span>
      <span class="dim">{row.op}</span>
      <span class="number">{decibels(dB).replace(" dB", "")}</span>
      <span class="number dim">
        {other ? decibels(other.layer(row.name)?.sqnr_db).replace(" dB", "") : added}
      </span>
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
