// Which layers are to blame: the noise that each adds, as a share of the signal's power.
import { EXACT, NOTHING_LEFT, type GraphNode, type Report } from "./data";
import { noisePercent } from "./format";

export const noiseOf = (dB: number): number => (dB >= EXACT ? 0 : dB <= NOTHING_LEFT ? 1e9 : 10 ** (-dB / 10));

export const isQuantized = (node: GraphNode): boolean =>
  node.outcome === "quantized" || node.outcome === "weights only" || node.outcome === "dynamic";

export interface Harm {
  node: number;
  // Share of the signal that is noise: 0.01 is one percent. If `measured`: harm at the outputs, in units of what a verdict
  // of "ok" permits.
  noise: number;
  measured: boolean;
}

export const harmText = (noise: number, measured: boolean): string =>
  measured ? `harm ${Number(noise.toPrecision(2))}` : `${noisePercent(noise)} noise`;

// Float and pass-through nodes only forward noise. What a fused node adds is the rounding of the quantized node before
// it, and is charged to that.
export function harmsOf(report: Report): Harm[] {
  const measured = report.data.sensitivity ?? [];
  if (measured.length > 0) {
    const places = new Map(report.data.nodes.map((node, i) => [node.name, i]));
    return measured
      .filter((row) => places.has(row.node))
      .map((row) => ({
        node: places.get(row.node)!,
        noise: row.harm ?? noiseOf(row.alone_quantized_sqnr_db ?? NOTHING_LEFT),
        measured: true,
      }))
      .sort((a, b) => b.noise - a.noise);
  }
  const added = new Map<number, number>();
  const reaching = new Map<string, number>();
  report.data.nodes.forEach((node, index) => {
    const before = Math.max(0, ...node.in.map((value) => reaching.get(value) ?? 0));
    let after = before;
    for (const value of node.out) {
      const layer = report.layer(value);
      if (layer) after = noiseOf(layer.sqnr_db);
      reaching.set(value, after);
    }
    const guilty = chargedFor(report, index);
    if (guilty !== undefined && after > before) added.set(guilty, (added.get(guilty) ?? 0) + after - before);
  });
  return [...added]
    .map(([node, noise]) => ({ node, noise, measured: false }))
    .sort((a, b) => b.noise - a.noise);
}

function chargedFor(report: Report, index: number): number | undefined {
  for (let at: number | undefined = index, steps = 0; at !== undefined && steps < 8; steps += 1) {
    const node: GraphNode = report.data.nodes[at]!;
    if (isQuantized(node)) return at;
    if (node.outcome !== "fused") return undefined;
    at = node.in.map((value) => report.maker.get(value)).find((maker) => maker !== undefined);
  }
  return undefined;
}
