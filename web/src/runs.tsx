// Any number of reports side by side: this one, and others that the user opens.
import { useMemo } from "preact/hooks";
import { CLEAN, type Report } from "./data";
import { bytes, change, DASH, decibels, milliseconds, percent } from "./format";
import { List } from "./list";
import { runNames } from "./run_name";
import { worstOutput } from "./tiles";

interface Props {
  report: Report;
  others: Report[];
  error: string | undefined;
  onOpen: (files: File[]) => void;
  onClose: (index: number) => void;
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
const ORDER = ["broken", "degraded", "ok"];
const LINES: Line[] = [
  {
    label: "Verdict",
    text: (r) => r.data.verdict?.level ?? DASH,
    number: (r) => (r.data.verdict && ORDER.includes(r.data.verdict.level) ? ORDER.indexOf(r.data.verdict.level) : undefined),
    better: 1,
    unit: (d) => (d > 0 ? "better" : "worse"),
  },
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
    unit: (d) => `${change(d * 100, 2)} points`,
  },
  {
    label: "Same top-1 class",
    text: (r) => (r.data.comparison?.rows ? percent(r.data.comparison.agreed, r.data.comparison.rows) : DASH),
    number: (r) => (r.data.comparison?.rows ? r.data.comparison.agreed / r.data.comparison.rows : undefined),
    better: 1,
    unit: (d) => `${change(d * 100, 2)} points`,
  },
  {
    label: "Output SQNR",
    text: (r) => decibels(worstOutput(r)),
    number: worstOutput,
    better: 1,
    unit: (d) => `${change(d, 1)} dB`,
  },
  {
    label: "Latency",
    text: (r) => milliseconds(r.data.after?.ms),
    number: (r) => r.data.after?.ms,
    better: -1,
    unit: (d) => `${d < 0 ? "−" : "+"}${milliseconds(Math.abs(d))}`,
  },
  { label: "Left in float", text: (r) => String(left(r)), number: left, better: -1, unit: (d) => change(d, 0) },
];

function left(report: Report): number {
  return report.data.nodes.filter((node) => node.outcome === "float").length;
}

// Differences above CLEAN do not count: a float model differs from itself by as much on another machine.
const counted = (dB: number): number => Math.min(dB, CLEAN);

interface Row {
  name: string;
  dB: (number | undefined)[]; // of each report
  spread: number;
}

function rowsOf(report: Report, others: Report[]): Row[] {
  return report.layers
    .map((layer): Row => {
      const dB = [layer.sqnr_db, ...others.map((one) => one.layer(layer.name)?.sqnr_db)];
      const known = dB.filter((one) => one !== undefined).map(counted);
      return { name: layer.name, dB, spread: known.length > 1 ? Math.max(...known) - Math.min(...known) : -1 };
    })
    .filter((row) => row.spread >= 0)
    .sort((a, b) => b.spread - a.spread);
}

export function Runs({ report, others, error, onOpen, onClose, onSelect, selected }: Props) {
  const rows = useMemo(() => (others.length > 0 ? rowsOf(report, others) : []), [report, others]);
  const names = runNames([report, ...others]);
  const open = <OpenReports onOpen={onOpen} />;
  const said = error && (
    <p class="error" role="alert">
      {error}
    </p>
  );
  if (others.length === 0)
    return (
      <div class="empty">
        <h3>Compare reports</h3>
        <p>
          Open the reports of other recipes or of the same model elsewhere, or drop their files anywhere on this
          page. Nothing leaves your machine.
        </p>
        {open}
        {said}
      </div>
    );
  const columns = { gridTemplateColumns: `minmax(0, 1fr) repeat(${names.length}, minmax(56px, 110px)) 70px` };
  return (
    <div class="layers">
      <div class="toolbar">
        {open}
        {said}
      </div>
      <div class="scroll">
        <table class="runs">
          <thead>
            <tr>
              <th />
              {names.map((name, i) => (
                <th key={name}>
                  <i class="swatch" style={{ background: `var(--series-${i % 8})` }} />
                  {name}
                  {i > 0 && (
                    <button class="link" aria-label={`Close ${name}`} title="Close it" onClick={() => onClose(i - 1)}>
                      {"\u00a0×"}
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {LINES.map((line) => (
              <LineRow key={line.label} line={line} reports={[report, ...others]} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > 0 ? (
        <>
          <div class="head run" style={columns} aria-hidden="true">
            <span>
              value, largest difference first; above {CLEAN} dB counts as {CLEAN}
            </span>
            {names.map((name) => (
              <span key={name}>{name}</span>
            ))}
            <span>spread dB</span>
          </div>
          <List
            label="runs"
            rows={rows}
            rowHeight={30}
            selected={rows.findIndex((row) => row.name === selected)}
            onSelect={(row) => onSelect(row.name)}
            render={(row) => (
              <div class="run" style={columns}>
                <span class="name" title={row.name}>
                  <bdi>{row.name}</bdi>
                </span>
                {row.dB.map((dB, i) => (
                  <span key={names[i]} class={`number ${best(row.dB, dB) ? "good" : ""}`}>
                    {decibels(dB).replace(" dB", "")}
                  </span>
                ))}
                <span class="number dim">{row.spread === 0 ? "same" : row.spread.toFixed(1)}</span>
              </div>
            )}
          />
        </>
      ) : (
        <p class="dim">No layer is compared in several reports.</p>
      )}
    </div>
  );
}

function best(all: (number | undefined)[], one: number | undefined): boolean {
  const known = all.filter((dB) => dB !== undefined).map(counted);
  return one !== undefined && Math.max(...known) > Math.min(...known) && counted(one) === Math.max(...known);
}

// Each further report with its difference from the first.
function LineRow({ line, reports }: { line: Line; reports: Report[] }) {
  const numbers = reports.map(line.number);
  if (numbers.every((one) => one === undefined)) return null;
  return (
    <tr>
      <th>{line.label}</th>
      {reports.map((report, i) => {
        const [first, own] = [numbers[0], numbers[i]];
        const difference = i > 0 && first !== undefined && own !== undefined ? own - first : undefined;
        const tone = !difference ? "dim" : difference * line.better > 0 ? "good" : "bad";
        return (
          <td key={i}>
            {line.text(report)}
            {difference !== undefined && <div class={tone}>{difference === 0 ? "same" : line.unit(difference)}</div>}
          </td>
        );
      })}
    </tr>
  );
}

function OpenReports({ onOpen }: { onOpen: Props["onOpen"] }) {
  return (
    <label class="open button">
      Open other reports…
      <input
        type="file"
        multiple
        accept=".html,.json"
        aria-label="Other reports"
        onChange={(event) => onOpen([...(event.currentTarget.files ?? [])])}
      />
    </label>
  );
}
