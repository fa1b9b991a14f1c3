// Above the network: what its colours mean, zoom, and opening of modules.
import type { ColorMode, Kind } from "./colors";
import type { Report } from "./data";

interface Props {
  report: Report;
  mode: ColorMode;
  legend: (Kind & { count: number })[];
  only: string | undefined;
  groups: boolean;
  onMode: (mode: ColorMode) => void;
  onOnly: (kind: string | undefined) => void;
  onZoom: (factor: number) => void;
  onFit: () => void;
  onOpenAll: () => void;
  onCloseAll: () => void;
}

const MODES: [ColorMode, string][] = [
  ["error", "Error"],
  ["harm", "Harm"],
  ["format", "Format"],
  ["outcome", "Outcome"],
  ["time", "Time"],
];

export function GraphToolbar(props: Props) {
  const { report, mode, legend, only } = props;
  const missing = (one: ColorMode): string =>
    (one === "error" || one === "harm") && report.layers.length === 0
      ? "Needs data to compare both models on"
      : one === "time" && !report.data.nodes.some((node) => node.ms !== undefined)
        ? "The times of nodes were not measured"
        : "";
  return (
    <div class="toolbar">
      <div class="choices" role="group" aria-label="Colour by">
        {MODES.map(([one, label]) => (
          <button key={one} aria-pressed={mode === one} disabled={missing(one) !== ""} title={missing(one)} onClick={() => props.onMode(one)}>
            {label}
          </button>
        ))}
      </div>
      <div class="choices" role="group" aria-label="Zoom">
        <button title="Zoom in (+)" aria-label="Zoom in" onClick={() => props.onZoom(1.4)}>
          +
        </button>
        <button title="Zoom out (-)" aria-label="Zoom out" onClick={() => props.onZoom(1 / 1.4)}>
          −
        </button>
        <button title="The whole network (0)" onClick={props.onFit}>
          Fit
        </button>
      </div>
      {props.groups && (
        <div class="choices" role="group" aria-label="Modules">
          <button id="close-all" title="Close every module" onClick={props.onCloseAll}>
            Collapse
          </button>
          <button id="open-all" title="Open every module" onClick={props.onOpenAll}>
            Expand
          </button>
        </div>
      )}
      <ul class="legend" aria-label="Legend">
        {legend.map((kind) => (
          <li key={kind.key}>
            <button
              aria-pressed={only === kind.key}
              title={`Show only: ${kind.label}`}
              onClick={() => props.onOnly(only === kind.key ? undefined : kind.key)}
            >
              <i style={{ background: `var(${kind.color})` }} />
              {kind.label} <b>{kind.count.toLocaleString("en")}</b>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
