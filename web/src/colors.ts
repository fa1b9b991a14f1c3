// The colour of each node, and the legend. The style sheet defines the colours of both themes.
import type { GraphNode, Report } from "./data";

export type ColorMode = "format" | "error" | "outcome";

export interface Kind {
  key: string;
  label: string;
  color: string;
}

const SERIES = 8; // --series-0 … of the style sheet
const OUTCOMES: Record<string, { label: string; color: string }> = {
  quantized: { label: "quantized", color: "--series-0" },
  dynamic: { label: "dynamic quantization", color: "--series-4" },
  "weights only": { label: "weights only", color: "--series-2" },
  "pass-through": { label: "pass-through", color: "--tint" },
  fused: { label: "fused", color: "--tint" },
  float: { label: "left in float", color: "--plain" },
};
const STEPS: { below: number; label: string; color: string }[] = [
  { below: 10, label: "below 10 dB", color: "--error-0" },
  { below: 20, label: "10 to 20 dB", color: "--error-1" },
  { below: 30, label: "20 to 30 dB", color: "--error-2" },
  { below: 40, label: "30 to 40 dB", color: "--error-3" },
  { below: Infinity, label: "40 dB and more", color: "--error-4" },
];

export const outcomeLabel = (outcome: string): string => OUTCOMES[outcome]?.label ?? outcome;
export const errorColor = (dB: number): string => STEPS.find((step) => dB < step.below)!.color;

// "int8 asym, int4 sym block 32" is "int8 × int4": data × weight.
function formats(to: string): string {
  const words = to.split(",").map((part) => part.trim().split(" ")[0] ?? "");
  const distinct = [...new Set(words)];
  return distinct.length > 1 ? words.join(" × ") : (distinct[0] ?? "");
}

function formatOf(node: GraphNode): { key: string; label: string; color?: string } {
  if (node.to && node.outcome === "weights only")
    return { key: `w ${formats(node.to)}`, label: `${formats(node.to)} weights` };
  if (node.to) return { key: formats(node.to), label: formats(node.to) };
  if (node.outcome === "pass-through" || node.outcome === "fused")
    return { key: "between", label: "between Q and DQ", color: "--tint" };
  return { key: "float", label: node.outcome ? "float32" : "not quantized", color: "--plain" };
}

function errorOf(node: GraphNode, report: Report): Kind {
  const dB = report.sqnr(node);
  if (dB === undefined) return { key: "none", label: "not compared", color: "--plain" };
  const step = STEPS.find((one) => dB < one.below)!;
  return { key: step.label, label: step.label, color: step.color };
}

// The kind of every node, and the legend: each kind with its number of nodes.
export function kindsOf(
  report: Report,
  mode: ColorMode,
): { nodes: Kind[]; legend: (Kind & { count: number })[] } {
  const series = new Map<string, Kind>();
  const nodes = report.data.nodes.map((node): Kind => {
    if (mode === "error") return errorOf(node, report);
    if (mode === "outcome") {
      const known = OUTCOMES[node.outcome ?? "float"] ?? OUTCOMES.float!;
      return { key: node.outcome ?? "float", ...known };
    }
    const format = formatOf(node);
    let kind = series.get(format.key);
    if (!kind) {
      const taken = [...series.values()].filter((one) => one.color.startsWith("--series")).length;
      kind = { ...format, color: format.color ?? `--series-${taken % SERIES}` };
      series.set(format.key, kind);
    }
    return kind;
  });
  const legend = new Map<string, Kind & { count: number }>();
  for (const kind of nodes) {
    const row = legend.get(kind.key);
    if (row) row.count += 1;
    else legend.set(kind.key, { ...kind, count: 1 });
  }
  const order = (kind: Kind): number =>
    mode === "error"
      ? STEPS.findIndex((step) => step.label === kind.key) + (kind.key === "none" ? 99 : 0)
      : kind.color === "--plain"
        ? 99
        : kind.color === "--tint"
          ? 98
          : 0;
  return { nodes, legend: [...legend.values()].sort((a, b) => order(a) - order(b) || b.count - a.count) };
}

export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
