// Compares two reports side by side: this one, and another that the user opens.
import { useMemo } from "preact/hooks";
import { CLEAN, type Report } from "./data";
import { bytes, DASH, decibels, milliseconds, percent } from "./format";
import { List } from "./list";
import { worstOutput } from "./tiles";

interface Props {
  report: Report;
  other: Report | undefined;
  error: string | undefined;
  onOpen: (file: File) => void;
  onClose: () => void;
  onSelect: (value: string) => void;
  selected: string | undefined;
}

interface Line {
  label: string;
  text: (report: Report) => string;
  number: (report: Report) => number | undefined;
  better: 1 | -1;
  unit: (difference: number) => string;
}

const top1 = (report: Report): number | undefined => {
  const one = report.data.comparison;
  return one?.labelled && one.after ? one.after.top1 / one.labelled : undefined;
};
const LINES: Line[] = [
  {
    label: "File",
    text: (r) => bytes(r.data.after?.bytes),
    number: (r) => r.data.after?.bytes,
    better: -1,
    unit: (d) => `${d < 0 ? "−" : "+"}${bytes(Math.abs(d))}`,
  },
  {
    label: "Accuracy, top-1",
    text: (r) => (top1(r) === undefined ? DASH : percent(top1(r)!, 1)),
    number: top1,
    better: 1,
    unit: (d) => `${signed(d * 100, 2)} points`,
  },
  {
    label: "Same top-1 class",
    text: (r) => (r.data.comparison?.rows ? percent(r.data.comparison.agreed, r.data.comparison.rows) : DASH),
    number: (r) => (r.data.comparison?.rows ? r.data.comparison.agreed / r.data.comparison.rows : undefined),
    better: 1,
    unit: (d) => `${signed(d * 100, 2)} points`,
  },
  {
    label: "Output SQNR",
    text: (r) => decibels(worstOutput(r)),
    number: worstOutput,
    better: 1,
    unit: (d) => `${signed(d, 1)} dB`,
  },
  {
    label: "Latency",
    text: (r) => milliseconds(r.data.after?.ms),
    number: (r) => r.data.after?.ms,
    better: -1,
    unit: (d) => `${d < 0 ? "−" : "+"}${milliseconds(Math.abs(d))}`,
  },
  {
    label: "Left in float",
    text: (r) => String(left(r)),
    number: left,
    better: -1,
    unit: (d) => signed(d, 0),
  },
];

// Differences above CLEAN do not count: a float model differs from itself by as much on another machine.
const gained = ({ a, b }: { a: number; b: number }): number => Math.min(b, CLEAN) - Math.min(a, CLEAN);

function left(report: Report): number {
  return report.data.nodes.filter((node) => node.outcome === "float").length;
}
function signed(value: number, digits: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}
export const runName = (report: Report): string =>
  report.data.recipe ?? report.data.after?.file.split(/[\\/]/).pop() ?? report.title();

export function Runs({ report, other, error, onOpen, onClose, onSelect, selected }: Props) {
  const rows = useMemo(() => {
    if (!other) return [];
    return report.layers
      .map((layer) => ({
        name: layer.name,
        op: layer.op,
        a: layer.sqnr_db,
        b: other.layer(layer.name)?.sqnr_db,
      }))
      .filter((row): row is { name: string; op: string; a: number; b: number } => row.b !== undefined)
      .sort((x, y) => Math.abs(gained(y)) - Math.abs(gained(x)));
  }, [report, other]);
  const open = (
    <label class="open button">
      Open another report…
      <input
        type="file"
        accept=".html,.json"
        aria-label="Another report"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) onOpen(file);
        }}
      />
    </label>
  );
  if (!other)
    return (
      <div class="empty">
        <h3>Compare two reports</h3>
        <p>
          Open the report of another recipe or of the same model elsewhere, or drop its file anywhere on this
          page. Nothing leaves your machine.
        </p>
        {open}
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
      </div>
    );
  return (
    <div class="layers">
      <div class="toolbar">
        {open}
        <button class="button" onClick={onClose}>
          Close it
        </button>
        {error && (
          <span class="error" role="alert">
            {error}
          </span>
        )}
      </div>
      <table class="runs">
        <thead>
          <tr>
            <th />
            <th>{runName(report)}</th>
            <th>{runName(other)}</th>
            <th>difference</th>
          </tr>
        </thead>
        <tbody>
          {LINES.map((line) => {
            const a = line.number(report),
              b = line.number(other);
            if (a === undefined && b === undefined) return null;
            const difference = a !== undefined && b !== undefined ? b - a : undefined;
            const tone = !difference ? "" : difference * line.better > 0 ? "good" : "bad";
            return (
              <tr key={line.label}>
                <th>{line.label}</th>
                <td>{line.text(report)}</td>
                <td>{line.text(other)}</td>
                <td class={tone}>
                  {difference === undefined ? DASH : difference === 0 ? "same" : line.unit(difference)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > 0 ? (
        <>
          <div class="head run" aria-hidden="true">
            <span>
              value, largest difference first; above {CLEAN} dB counts as {CLEAN}
            </span>
            <span>{runName(report)}</span>
            <span>{runName(other)}</span>
            <span>SQNR dB</span>
          </div>
          <List
            label="runs"
            rows={rows}
            rowHeight={30}
            selected={rows.findIndex((row) => row.name === selected)}
            onSelect={(row) => onSelect(row.name)}
            render={(row) => (
              <div class="run">
                <span class="name" title={row.name}>
                  {row.name}
                </span>
                <span class="number">{decibels(row.a).replace(" dB", "")}</span>
                <span class="number">{decibels(row.b).replace(" dB", "")}</span>
                <span class={`number ${gained(row) >= 0 ? "good" : "bad"}`}>
                  {gained(row) === 0 ? "same" : signed(gained(row), 1)}
                </span>
              </div>
            )}
          />
        </>
      ) : (
        <p class="dim">No layer is compared in both reports.</p>
      )}
    </div>
  );
}
