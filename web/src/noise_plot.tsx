// SQNR of the layers along the network, of one or several runs.
import uPlot from "uplot";
import { cssColor } from "./colors";
import type { Difference } from "./data";
import { decibels, signed } from "./format";
import { axis, tell, usePlot } from "./plot";

interface Props {
  layers: Difference[];
  others: { name: string; layers: Difference[] }[]; // further runs
  name: string;
  selected: string | undefined;
  theme: string;
  onPick: (name: string) => void;
}

const LOWEST = -20; // dB: lower values are drawn here
const HIGHEST = 100;
const FEW = 80; // layers whose points are marked

const shown = (value: number | undefined): number | null =>
  value === undefined ? null : Math.max(LOWEST, Math.min(value, HIGHEST));

// The axis holds all values, and steps of ten.
function range(low: number | null, high: number | null): [number, number] {
  return [Math.floor(Math.min(0, low ?? 0) / 10) * 10, Math.ceil((Math.max(20, high ?? 0) + 1) / 10) * 10];
}

export function NoisePlot({ layers, others, name, selected, theme, onPick }: Props) {
  const place = usePlot(
    (width) => {
      if (layers.length === 0) return undefined;
      const runs = others.map((one) => new Map(one.layers.map((layer) => [layer.name, layer.sqnr_db])));
      const series: uPlot.Series[] = [{}];
      [name, ...others].forEach((_, i) =>
        series.push({
          stroke: cssColor(`--series-${i % 8}`),
          width: 1.6,
          ...(i > 0 ? { dash: [6, 3] } : {}),
          points: { show: i === 0 && layers.length < FEW, size: 5 },
        }),
      );
      const data: uPlot.AlignedData = [
        layers.map((_, i) => i),
        layers.map((layer) => shown(layer.sqnr_db)),
        ...runs.map((run) => layers.map((layer) => shown(run.get(layer.name)))),
      ];
      const mark = layers.findIndex((layer) => layer.name === selected);
      const plot = new uPlot(
        {
          width,
          height: 170,
          padding: [10, 24, 0, 0],
          legend: { show: false },
          cursor: { y: false, drag: { x: false, y: false } },
          scales: { x: { time: false }, y: { range: (_, low, high) => range(low, high) } },
          axes: [
            {
              ...axis(),
              size: 26,
              label: "layers, in execution order; higher is better",
              labelSize: 16,
              values: (_, ticks) => ticks.map((t) => (t % 1 ? "" : String(t))),
            },
            {
              ...axis(),
              label: "SQNR in dB",
              labelSize: 16,
              size: 40,
              values: (_, ticks) => ticks.map((t) => signed(String(t))),
            },
          ],
          series,
          hooks: {
            draw: [(one) => drawMark(one, mark)],
            setCursor: [(one) => tell(one, (i) => `${layers[i]?.name ?? ""}: ${decibels(layers[i]?.sqnr_db)}`)],
          },
        },
        data,
        document.createElement("div"),
      );
      plot.over.addEventListener("click", () => {
        const i = plot.cursor.idx;
        if (i !== null && i !== undefined && layers[i]) onPick(layers[i].name);
      });
      return plot;
    },
    [layers, others, selected, theme],
  );
  return (
    <div class="noise">
      {others.length > 0 && (
        <ul class="legend plotlegend" aria-label="Runs">
          {[name, ...others.map((one) => one.name)].map((one, i) => (
            <li key={one}>
              <i style={{ background: `var(--series-${i % 8})` }} />
              {one}
            </li>
          ))}
        </ul>
      )}
      <div class="plot" ref={place} />
    </div>
  );
}

function drawMark(plot: uPlot, at: number): void {
  if (at < 0) return;
  const { ctx } = plot;
  const x = plot.valToPos(at, "x", true);
  ctx.save();
  ctx.strokeStyle = cssColor("--accent");
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x, plot.bbox.top);
  ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  ctx.stroke();
  ctx.restore();
}
