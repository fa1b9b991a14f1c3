// Many recipes for one model: size against accuracy as a Pareto plot, and a table.
import { useEffect, useState } from "preact/hooks";
import { NOTHING_LEFT, type Level, type Report, type SweepRow } from "./data";
import { bytes, decibels, milliseconds, percent, signedText } from "./format";
import { ParetoPlot, type Dot } from "./pareto_plot";

type Cost = "bytes" | "milliseconds";

const LEVEL_COLORS: Record<Level, string> = {
  ok: "--good",
  degraded: "--error-2",
  broken: "--bad",
  unknown: "--dim",
};

export function Sweep({ report }: { report: Report }) {
  const rows = report.data.sweep ?? [];
  const [cost, setCost] = useState<Cost>("bytes");
  useEffect(() => {
    performance.mark("anybit-drawn");
  }, []);
  const labelled = rows.some((row) => row.top1 !== undefined);
  const timed = rows.some((row) => row.milliseconds !== undefined);
  const goodness = (row: SweepRow): number | undefined =>
    labelled ? row.top1 : row.sqnr_db === undefined ? undefined : (row.sqnr_db ?? NOTHING_LEFT);
  const dots = rows.flatMap((row): Dot[] => {
    const [x, y] = [row[cost], goodness(row)];
    if (row.failed || x === undefined || y === undefined) return [];
    return [{ name: row.recipe, x, y: labelled ? 100 * y : Math.max(-10, Math.min(y, 80)), color: LEVEL_COLORS[row.level ?? "unknown"] }];
  });
  const best = new Set(paretoFront(dots).map((dot) => dot.name));
  const sorted = [...rows].sort((a, b) => (a.bytes ?? Infinity) - (b.bytes ?? Infinity));
  return (
    <div class="column sweep">
      {timed && (
        <div class="toolbar">
          <div class="choices" role="group" aria-label="Against">
            <button aria-pressed={cost === "bytes"} onClick={() => setCost("bytes")}>
              Size
            </button>
            <button aria-pressed={cost === "milliseconds"} onClick={() => setCost("milliseconds")}>
              Speed
            </button>
          </div>
        </div>
      )}
      <ParetoPlot
        dots={dots}
        front={paretoFront(dots)}
        xLabel={cost === "bytes" ? "size of the file (smaller is better)" : "time of one run (shorter is better)"}
        yLabel={labelled ? "top-1 accuracy in % (higher is better)" : "SQNR of the worst output in dB (higher is better)"}
        xText={cost === "bytes" ? bytes : milliseconds}
        xUnit={cost === "bytes" ? 1024 ** Math.floor(Math.log(Math.max(...dots.map((dot) => dot.x), 1)) / Math.log(1024)) : 1}
      />
      <div class="scroll">
        <table class="runs">
          <thead>
            <tr>
              <th>recipe</th>
              <th>verdict</th>
              <th>size</th>
              <th>SQNR</th>
              {labelled && <th>top-1</th>}
              {timed && <th>time</th>}
              <th>why</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((row) => (
              <tr key={row.recipe} class={best.has(row.recipe) ? "best" : ""}>
                <th>
                  {row.recipe}
                  {best.has(row.recipe) && <span title="No other recipe is better in both">{" ★"}</span>}
                </th>
                <td>
                  <b class={`level-${row.level ?? "unknown"}`}>{row.failed ? "failed" : (row.level ?? "unknown")}</b>
                </td>
                <td>{bytes(row.bytes)}</td>
                <td>{row.sqnr_db === undefined ? "–" : decibels(row.sqnr_db ?? NOTHING_LEFT)}</td>
                {labelled && <td>{row.top1 === undefined ? "–" : percent(row.top1, 1)}</td>}
                {timed && <td>{milliseconds(row.milliseconds)}</td>}
                <td class="reasoned">{row.failed ?? signedText(row.reason ?? "")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

// Dots that no other dot beats in both directions, from the cheapest.
function paretoFront(dots: Dot[]): Dot[] {
  const front: Dot[] = [];
  for (const dot of [...dots].sort((a, b) => a.x - b.x || b.y - a.y))
    if (front.length === 0 || dot.y > front[front.length - 1]!.y) front.push(dot);
  return front;
}
