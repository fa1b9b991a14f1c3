// A report, with lookups by name.
import type { Difference, Document, GraphNode, Tensor, Weight } from "./document";

export * from "./document";

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
  private readonly reaching = new Map<string, number>(); // SQNR on the path to a value

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

  // The type of a value, if it is known.
  type(value: string): string | undefined {
    const maker = this.maker.get(value);
    if (maker !== undefined) {
      const node = this.data.nodes[maker]!;
      return node.types?.[node.out.indexOf(value)] || undefined;
    }
    const input = (this.data.inputs ?? []).indexOf(value);
    return (input >= 0 ? this.data.input_types?.[input] : this.data.constants?.[value]) || undefined;
  }

  // The lowest SQNR of the inputs of a node, through nodes whose values are not compared.
  sqnrIn(node: GraphNode): number | undefined {
    const all = node.in.map((value) => this.reaching.get(value)).filter((x) => x !== undefined);
    return all.length ? Math.min(...all) : undefined;
  }

  private findDrops(): void {
    const { reaching } = this;
    for (const name of this.data.inputs ?? []) reaching.set(name, EXACT);
    for (const node of this.data.nodes) {
      let worst = EXACT;
      for (const value of node.in) worst = Math.min(worst, reaching.get(value) ?? EXACT);
      for (const value of node.out) {
        const own = this.layerOf.get(value)?.sqnr_db;
        // What enters the first layers is exact: how much they lose says nothing beside other layers.
        if (own !== undefined && worst < EXACT) this.drops.set(value, Math.max(0, Math.min(worst, CLEAN) - own));
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
export const NOTHING_LEFT = -999; // dB: only one of the models has NaN

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
