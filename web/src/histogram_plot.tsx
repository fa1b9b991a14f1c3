// The histogram of a tensor, with its range and its quantization grid.
import uPlot from "uplot";
import { cssColor } from "./colors";
import type { Histogram } from "./data";
import { real } from "./format";
import { axis, tell, usePlot } from "./plot";

export interface Grid {
  low: number;
  high: number;
  levels: number;
}

interface HistogramProps {
  histogram: Histogram;
  low?: number | undefined; // the chosen range
  high?: number | undefined;
  grid?: Grid | undefined;
  logarithmic: boolean;
  theme: string;
}

// Counts on a logarithmic or linear axis; zero stays zero in both.
export function HistogramPlot({ histogram, low, high, grid, logarithmic, theme }: HistogramProps) {
  const place = usePlot(
    (width) => {
      const { counts } = histogram;
      const step = (histogram.high - histogram.low) / counts.length;
      const x = counts.map((_, i) => histogram.low + (i + 0.5) * step);
      const y = counts.map((count) => (logarithmic ? Math.log10(1 + count) : count));
      const from = Math.min(histogram.low, low ?? histogram.low, grid?.low ?? histogram.low);
      const to = Math.max(histogram.high, high ?? histogram.high, grid?.high ?? histogram.high);
      const margin = (to - from || 1) * 0.02;
      const back = (plot: uPlot): void => drawOutside(plot, histogram, low, high);
      const front = (plot: uPlot): void => {
        drawGrid(plot, grid);
        drawEnds(plot, low, high);
      };
      return new uPlot(
        {
          width,
          height: 220,
          padding: [10, 12, 0, 0],
          legend: { show: false },
          cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
          scales: {
            x: { time: false, range: [from - margin, to + margin] },
            y: { range: (_, __, top) => [0, top * 1.05 || 1] },
          },
          axes: [
            { ...axis(), size: 28, values: (_, ticks) => ticks.map(real) },
            { ...axis(), size: 56, values: (_, ticks) => ticks.map((tick) => countLabel(tick, logarithmic)) },
          ],
          series: [
            {},
            {
              paths: uPlot.paths.bars!({ size: [1, Infinity], gap: counts.length > 100 ? 0 : 1 }),
              fill: cssColor("--bar"),
              width: 0,
              points: { show: false },
            },
          ],
          hooks: {
            drawClear: [back],
            draw: [front],
            setCursor: [
              (plot) =>
                tell(
                  plot,
                  (i) =>
                    `${real(x[i]! - step / 2)} to ${real(x[i]! + step / 2)}: ${(counts[i] ?? 0).toLocaleString("en")}`,
                ),
            ],
          },
        },
        [x, y],
        document.createElement("div"),
      );
    },
    [histogram, low, high, grid?.low, grid?.high, grid?.levels, logarithmic, theme],
  );
  return <div class="plot" ref={place} />;
}

function countLabel(tick: number, logarithmic: boolean): string {
  const value = logarithmic ? 10 ** tick - (tick === 0 ? 1 : 0) : tick;
  if (logarithmic && tick % 1 !== 0) return "";
  return value >= 1e9
    ? `${value / 1e9}G`
    : value >= 1e6
      ? `${value / 1e6}M`
      : value >= 1e3
        ? `${value / 1e3}k`
        : String(value);
}

// A red background where values lie outside of the range and saturate.
function drawOutside(plot: uPlot, seen: Histogram, low: number | undefined, high: number | undefined): void {
  if (low === undefined || high === undefined) return;
  const { ctx } = plot;
  const { top, height } = plot.bbox;
  const at = (value: number): number => plot.valToPos(value, "x", true);
  ctx.save();
  ctx.fillStyle = cssColor("--clip");
  if (seen.low < low) ctx.fillRect(at(seen.low), top, at(low) - at(seen.low), height);
  if (seen.high > high) ctx.fillRect(at(high), top, at(seen.high) - at(high), height);
  ctx.restore();
}

function drawEnds(plot: uPlot, low: number | undefined, high: number | undefined): void {
  const { ctx } = plot;
  const { top, height } = plot.bbox;
  ctx.save();
  ctx.strokeStyle = cssColor("--accent");
  ctx.lineWidth = 2;
  for (const end of [low, high]) {
    if (end === undefined) continue;
    const x = plot.valToPos(end, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }
  ctx.restore();
}

// A tick for every value of the grid if they are distinguishable, otherwise a band.
function drawGrid(plot: uPlot, grid: Grid | undefined): void {
  if (!grid || grid.levels < 2) return;
  const { ctx } = plot;
  const bottom = plot.bbox.top + plot.bbox.height;
  const from = plot.valToPos(grid.low, "x", true);
  const to = plot.valToPos(grid.high, "x", true);
  const step = (to - from) / (grid.levels - 1);
  ctx.save();
  ctx.fillStyle = cssColor("--accent");
  if (step >= 3)
    for (let i = 0; i < grid.levels; i += 1) ctx.fillRect(from + i * step - 0.5, bottom - 9, 1, 9);
  else {
    ctx.globalAlpha = 0.55;
    ctx.fillRect(from, bottom - 5, to - from, 5);
  }
  ctx.restore();
}
