// The data that the engine embeds in the page (src/api/report_json.cpp), with lookups by name.

export interface Histogram {
  low: number;
  high: number;
  counts: number[];
}

export interface ModelFile {
  file: string;
  bytes: number;
  ms?: number;
  parameters: { type: string; tensors: number; elements: number; bytes: number }[];
}

export interface GraphNode {
  name: string;
  op: string;
  in: string[];
  out: string[];
  outcome?: string;
  graph?: string;
  to?: string;
  reason?: string;
}

export interface Tensor {
  name: string;
  to?: string;
  values?: string[];
  low?: number;
  high?: number;
  seen_low?: number;
  seen_high?: number;
  samples?: number;
  fixed?: boolean;
  scale?: number;
  zero_point?: number;
  levels?: number;
  grid_low?: number;
  grid_high?: number;
  saturated?: number;
  histogram?: Histogram;
}

export interface Weight {
  name: string;
  bytes_before: number;
  to?: string;
  bytes_after?: number;
  sqnr_db?: number;
  raised?: number;
  rounded_for_sums?: number;
  levels?: number;
  scales?: number;
  scale_low?: number;
  scale_high?: number;
  histogram?: Histogram;
}

export interface Difference {
  name: string;
  op: string;
  sqnr_db: number;
  cosine: number;
  largest_error: number;
  largest_value: number;
}

interface Right {
  top1: number;
  top5: number;
}

export interface Comparison {
  samples: number;
  rows: number;
  agreed: number;
  labelled?: number;
  before?: Right;
  after?: Right;
  outputs: Difference[];
  layers: Difference[];
}

export type Level = "ok" | "degraded" | "broken" | "unknown";

export interface PartVerdict {
  output: string;
  kind: "classes" | "probabilities" | "values";
  level: Level;
  reason: string;
  count: number;
  sqnr_db: number | null;
  cosine: number | null;
  axis?: number;
  channels?: [number, number];
  agreement?: { rows: number; agreed: number };
  decisions?: { threshold: number; before: number; after: number; both: number };
}

export interface Verdict {
  level: Level;
  reason: string;
  recipe?: string;
  parts: PartVerdict[];
}

export interface Document {
  version: number;
  anybit: string;
  command: "quantize" | "compare" | "calibrate";
  before?: ModelFile;
  after?: ModelFile;
  recipe?: string;
  observer?: string;
  samples?: number;
  remarks?: string[];
  inputs?: string[];
  outputs?: string[];
  nodes: GraphNode[];
  tensors: Tensor[];
  weights?: Weight[];
  verdict?: Verdict;
  comparison?: Comparison;
}

// A report with indices by name.
export class Report {
  readonly layers: Difference[];
  readonly weights: Weight[];
  readonly maker = new Map<string, number>();
  readonly users = new Map<string, number[]>();
  private readonly layerOf = new Map<string, Difference>();
  private readonly tensorOf = new Map<string, Tensor>();
  private readonly weightOf = new Map<string, Weight>();
  private readonly drops = new Map<string, number>();

  constructor(readonly data: Document) {
    this.layers = (data.comparison?.layers ?? []).map(readable);
    this.weights = data.weights ?? [];
    for (const layer of [...(data.comparison?.outputs ?? []).map(readable), ...this.layers])
      this.layerOf.set(layer.name, layer);
    for (const tensor of data.tensors)
      for (const name of tensor.values ?? [tensor.name]) this.tensorOf.set(name, tensor);
    for (const weight of this.weights) this.weightOf.set(weight.name, weight);
    data.nodes.forEach((node, index) => {
      for (const value of node.out) this.maker.set(value, index);
      for (const value of new Set(node.in)) {
        const list = this.users.get(value);
        if (list) list.push(index);
        else this.users.set(value, [index]);
      }
    });
    this.findDrops();
  }

  layer(value: string): Difference | undefined {
    return this.layerOf.get(value);
  }
  tensor(value: string): Tensor | undefined {
    return this.tensorOf.get(value);
  }
  weight(value: string): Weight | undefined {
    return this.weightOf.get(value);
  }

  // The lowest SQNR of the outputs of a node.
  sqnr(node: GraphNode): number | undefined {
    const all = node.out
      .map((value) => this.layerOf.get(value)?.sqnr_db)
      .filter((x) => x !== undefined);
    return all.length ? Math.min(...all) : undefined;
  }

  // The SQNR drop of a node: the lowest SQNR of its inputs minus that of its output, in dB.
  drop(value: string): number | undefined {
    return this.drops.get(value);
  }

  title(): string {
    const path = this.data.before?.file ?? this.data.after?.file ?? "";
    return path.split(/[\\/]/).pop() || "merged ranges";
  }

  private findDrops(): void {
    const reaching = new Map<string, number>(); // SQNR on the path to a value, through values that are not compared
    for (const name of this.data.inputs ?? []) reaching.set(name, EXACT);
    for (const node of this.data.nodes) {
      let worst = EXACT;
      for (const value of node.in) worst = Math.min(worst, reaching.get(value) ?? EXACT);
      for (const value of node.out) {
        const own = this.layerOf.get(value)?.sqnr_db;
        if (own !== undefined) this.drops.set(value, Math.max(0, Math.min(worst, CLEAN) - own));
        reaching.set(value, own ?? worst);
      }
    }
  }
}

export const EXACT = 200; // dB: identical
export const CLEAN = 60; // dB: the cap of SQNR for drops

// JSON has no infinity and no NaN: they arrive as null.
function readable(layer: Difference): Difference {
  layer.sqnr_db ??= NOTHING_LEFT;
  layer.cosine ??= NaN;
  layer.largest_error ??= Infinity;
  layer.largest_value ??= Infinity;
  return layer;
}
export const NOTHING_LEFT = -999; // dB

export function parse(text: string): Report {
  const data = JSON.parse(text) as Partial<Document>;
  if (data.version !== 1 || !Array.isArray(data.nodes) || !Array.isArray(data.tensors))
    throw new Error("not an anybit report, or one of another version");
  return new Report(withoutOldNames(data as Document));
}

const RENAMED_KEYS = { signal_to_noise_db: "sqnr_db", moved_for_sums: "rounded_for_sums" };
const RENAMED_OUTCOMES: Record<string, string> = { moves: "pass-through", inside: "fused" };

// Reports of earlier versions can be opened, too: their names are replaced by the current ones.
function withoutOldNames(data: Document): Document {
  for (const node of data.nodes) node.outcome = RENAMED_OUTCOMES[node.outcome ?? ""] ?? node.outcome;
  const { weights = [], comparison } = data;
  for (const one of [...weights, ...(comparison?.outputs ?? []), ...(comparison?.layers ?? [])]) {
    const row = one as unknown as Record<string, unknown>;
    for (const [old, now] of Object.entries(RENAMED_KEYS)) if (!(now in row) && old in row) row[now] = row[old];
  }
  return data;
}

// The JSON of an opened file, which is a report page or the JSON itself.
export function parseFile(text: string): Report {
  const inside = /<script id="anybit-report" type="application\/json">([^<]*)<\/script>/.exec(text);
  return parse(inside?.[1] ?? text);
}
