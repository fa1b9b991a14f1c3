// The summary tiles: size, accuracy, SQNR, speed.
import type { ComponentChildren } from "preact";
import type { Report } from "./data";
import { bytes, change, compared, count, DASH, decibels, milliseconds, percent } from "./format";
import { typeColor } from "./formats";

function Tile({
  title,
  value,
  note,
  hint,
}: {
  title: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  hint?: string;
}) {
  return (
    <div class="tile" title={hint}>
      <h2>{title}</h2>
      <div class="value">{value}</div>
      {note && <div class="dim">{note}</div>}
    </div>
  );
}

export function worstOutput(report: Report): number | undefined {
  const outputs = report.data.comparison?.outputs ?? [];
  return outputs.length ? Math.min(...outputs.map((output) => output.sqnr_db)) : undefined;
}

function SizeTile({ report }: { report: Report }) {
  const { before, after } = report.data;
  if (!before) return null;
  if (!after)
    return (
      <Tile title="Size" value={bytes(before.bytes)} note={`${count(report.data.nodes.length)} nodes`} />
    );
  const ratio = before.bytes / after.bytes;
  return (
    <Tile
      title="Size"
      value={bytes(after.bytes)}
      hint="Size of the model files"
      note={
        <>
          {bytes(before.bytes)} before,{" "}
          <b>{compared(ratio, "smaller", "larger", "as large")}</b>
        </>
      }
    />
  );
}

function AccuracyTile({ report }: { report: Report }) {
  const one = report.data.comparison;
  if (!one) {
    if (!report.data.after) return null;
    return (
      <Tile
        title="Accuracy"
        value={DASH}
        note={
          <>
            with samples: <code class="word">--calib</code>
          </>
        }
      />
    );
  }
  if (one.labelled && one.before && one.after) {
    const points = (100 * (one.after.top1 - one.before.top1)) / one.labelled;
    return (
      <Tile
        title="Accuracy"
        value={percent(one.after.top1, one.labelled)}
        hint={`Top-1 on ${count(one.labelled)} labelled samples`}
        note={
          <>
            {percent(one.before.top1, one.labelled)} before,{" "}
            <b>{points === 0 ? "no change" : `${change(points, 2)} points`}</b>
          </>
        }
      />
    );
  }
  if (one.rows > 0)
    return (
      <Tile
        title="Agreement"
        value={percent(one.agreed, one.rows)}
        note={`same top-1 class, ${count(one.rows)} rows of scores`}
        hint="How often both models have the same top-1 class"
      />
    );
  return null;
}

function SpeedTile({ report }: { report: Report }) {
  const before = report.data.before?.ms;
  const after = report.data.after?.ms;
  if (before === undefined || after === undefined) return null;
  const ratio = before / after;
  return (
    <Tile
      title="Speed"
      value={milliseconds(after)}
      hint="The best latency of several runs of one sample, on this machine"
      note={
        <>
          {milliseconds(before)} before,{" "}
          <b>{compared(ratio, "faster", "slower", "as fast")}</b>
        </>
      }
    />
  );
}

function NodesTile({ report }: { report: Report }) {
  const nodes = report.data.nodes;
  if (!report.data.after) return null;
  const left = nodes.filter((node) => node.outcome === "float").length;
  return (
    <Tile
      title="Nodes"
      value={
        <>
          {count(nodes.length - left)} <small>of {count(nodes.length)}</small>
        </>
      }
      note={left ? `${count(left)} left in float` : "none left in float"}
      hint="Nodes that are quantized, or lie between Q and DQ"
    />
  );
}

function MixTile({ report }: { report: Report }) {
  const file = report.data.after ?? report.data.before;
  if (!file || file.parameters.length === 0) return null;
  const whole = file.parameters.reduce((sum, one) => sum + one.bytes, 0);
  return (
    <div class="tile mix">
      <h2>Formats in the file</h2>
      <div
        class="mixbar"
        role="img"
        aria-label={file.parameters.map((one) => `${one.type} ${percent(one.bytes, whole, 1)}`).join(", ")}
      >
        {file.parameters.map((one) => (
          <i
            key={one.type}
            title={`${one.type}: ${bytes(one.bytes)}, ${count(one.elements)} values`}
            style={{
              flexGrow: one.bytes,
              background: `var(${typeColor(one.type)})`,
            }}
          />
        ))}
      </div>
      <div class="mixlegend">
        {file.parameters.slice(0, 4).map((one) => (
          <span key={one.type}>
            <i style={{ background: `var(${typeColor(one.type)})` }} />
            {one.type} <b>{bytes(one.bytes)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}

export function Tiles({ report }: { report: Report }) {
  const sqnr = worstOutput(report);
  const samples = report.data.comparison?.samples ?? report.data.samples ?? 0;
  const clipped = report.data.tensors.filter((tensor) => (tensor.saturated ?? 0) > 0).length;
  return (
    <section class="tiles" aria-label="Summary">
      <SizeTile report={report} />
      <AccuracyTile report={report} />
      {sqnr !== undefined && (
        <Tile
          title="SQNR"
          value={decibels(sqnr)}
          note="at the output; 6 dB is one bit"
          hint="Signal-to-quantization-noise ratio of the worst output"
        />
      )}
      <SpeedTile report={report} />
      <NodesTile report={report} />
      {report.data.command === "calibrate" && (
        <Tile
          title="Values"
          value={count(report.data.tensors.length)}
          note={`${clipped ? count(clipped) : "none"} with values outside their range`}
        />
      )}
      {report.data.command === "calibrate" && (
        <Tile title="Samples" value={count(samples)} note={`ranges by ${report.data.observer ?? ""}`} />
      )}
      <MixTile report={report} />
    </section>
  );
}
