// The data that the engine embeds in the page (src/api/report_json.cpp); docs/report.md has the keys.

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
  types?: string[]; // of the outputs: "float32[1, 16, 80, 80]"
  attributes?: Record<string, string>;
  macs?: number;
  ms?: number;
  ms_before?: number;
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

export interface ThumbnailData {
  width: number;
  height: number;
  channels: 1 | 3;
  pixels: string; // base64
}

export interface WorstSample {
  sample: number;
  sqnr_db: number | null;
  thumbnail?: ThumbnailData;
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
  worst_samples?: WorstSample[];
}

// SQNR of the outputs if one layer alone is quantized, and if it alone is left in float; its harm in units of what a
// verdict of "ok" permits.
export interface Sensitivity {
  node: string;
  alone_quantized_sqnr_db: number | null;
  alone_float_sqnr_db?: number | null;
  harm?: number;
}

export interface SweepRow {
  recipe: string;
  bytes?: number;
  level?: Level;
  reason?: string;
  sqnr_db?: number | null;
  top1?: number;
  milliseconds?: number;
  failed?: string;
}

export interface Training {
  trained: boolean;
  loss: string;
  augment: string;
  steps: number;
  batch: number;
  seconds: number;
  restarts: number;
  loss_before: number;
  loss_after: number;
  agreement_before: number | null;
  agreement_after: number | null;
  curve: { step: number; loss: number; agreement: number | null }[];
}

export type Level = "ok" | "degraded" | "broken" | "unknown";

export interface PartVerdict {
  output: string;
  kind: "classes" | "probabilities" | "values" | "state";
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
  command: "quantize" | "compare" | "calibrate" | "sweep" | "sensitivity";
  before?: ModelFile;
  after?: ModelFile;
  recipe?: string;
  observer?: string;
  samples?: number;
  remarks?: string[];
  inputs?: string[];
  input_types?: string[];
  constants?: Record<string, string>; // types of weights
  outputs?: string[];
  nodes: GraphNode[];
  tensors: Tensor[];
  weights?: Weight[];
  verdict?: Verdict;
  comparison?: Comparison;
  sensitivity?: Sensitivity[];
  sweep?: SweepRow[];
  training?: Training;
}
