// The colour of each node, and the legend. The style sheet defines the colours of both themes.
import type { GraphNode, Report } from "./data";
import { formatColor } from "./formats";
import { harmsOf } from "./harm";

export type ColorMode = "format" | "error" | "harm" | "outcome" | "time";

export interface Kind {
  key: string;
  label: string;
  color: string;
}

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

// "int8 asym, int4 sym block 32": int8 and int4, of data and weight.
const formatsIn = (to: string): string[] => to.split(",").map((part) => part.trim().split(" ")[0] ?? "");

function formatOf(node: GraphNode): Kind {
  if (node.to) {
    const words = formatsIn(node.to);
    const weightsOnly = node.outcome === "weights only";
    const label = new Set(words).size > 1 ? words.join(" × ") : words[0]!;
    return {
      key: weightsOnly ? `w ${label}` : label,
      label: weightsOnly ? `${label} weights` : label,
      color: formatColor(words, weightsOnly),
    };
  }
  if (node.outcome === "pass-through" || node.outcome === "fused")
    return { key: "between", label: "between Q and DQ", color: "--tint" };
  return { key: "float", label: node.outcome ? "float32" : "not quantized", color: "--plain" };
}

// Shares of the time of all nodes.
interface Step {
  from: number;
  label: string;
  color: string;
}
const TIMES: Step[] = [
  { from: 0.05, label: "5 % of the time and more", color: "--error-0" },
  { from: 0.02, label: "2 to 5 %", color: "--error-1" },
  { from: 0.01, label: "1 to 2 %", color: "--error-2" },
  { from: 0.003, label: "0.3 to 1 %", color: "--error-3" },
  { from: 0, label: "less", color: "--error-4" },
];

// Noise that a layer adds, as a share of the signal.
const HARMS: Step[] = [
  { from: 0.03, label: "adds 3 % noise and more", color: "--error-0" },
  { from: 0.01, label: "1 to 3 %", color: "--error-1" },
  { from: 0.003, label: "0.3 to 1 %", color: "--error-2" },
  { from: 0.001, label: "0.1 to 0.3 %", color: "--error-3" },
  { from: 0, label: "less", color: "--error-4" },
];

function stepOf(steps: Step[], share: number | undefined, missing: string): Kind {
  if (share === undefined) return { key: "none", label: missing, color: "--plain" };
  const step = steps.find((one) => share >= one.from)!;
  return { key: step.label, label: step.label, color: step.color };
}

function errorOf(node: GraphNode, report: Report): Kind {
  const dB = report.sqnr(node);
  if (dB === undefined) return { key: "none", label: "not compared", color: "--plain" };
  const step = STEPS.find((one) => dB < one.below)!;
  return { key: step.label, label: step.label, color: step.color };
}

const labels = (steps: { label: string }[]): string[] => steps.map((step) => step.label);
const SCALES = { error: labels(STEPS), harm: labels(HARMS), time: labels(TIMES) };

// The kind of every node, and the legend: each kind with its number of nodes.
export function kindsOf(
  report: Report,
  mode: ColorMode,
): { nodes: Kind[]; legend: (Kind & { count: number })[] } {
  const whole = report.data.nodes.reduce((sum, node) => sum + (node.ms ?? 0), 0) || 1;
  const noises = new Map(mode === "harm" ? harmsOf(report).map((one) => [one.node, one.noise]) : []);
  const nodes = report.data.nodes.map((node, index): Kind => {
    if (mode === "error") return errorOf(node, report);
    if (mode === "outcome") {
      const known = OUTCOMES[node.outcome ?? "float"] ?? OUTCOMES.float!;
      return { key: node.outcome ?? "float", ...known };
    }
    if (mode === "harm") return stepOf(HARMS, noises.get(index), "adds no noise");
    if (mode === "time") return stepOf(TIMES, node.ms === undefined ? undefined : node.ms / whole, "fused, or not run");
    return formatOf(node);
  });
  const legend = new Map<string, Kind & { count: number }>();
  for (const kind of nodes) {
    const row = legend.get(kind.key);
    if (row) row.count += 1;
    else legend.set(kind.key, { ...kind, count: 1 });
  }
  const order = (kind: Kind): number =>
    mode in SCALES
      ? SCALES[mode as keyof typeof SCALES].indexOf(kind.key) + (kind.key === "none" ? 99 : 0)
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
