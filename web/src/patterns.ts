// Blocks that exporters split into primitive operators: SiLU, LayerNorm and the like are one box of the drawing.
import type { Report } from "./data";

// How a block is computed, from its last operator inward. x and y are any values, the same wherever they occur; c is a
// constant. The operands of Add and Mul may be in either order.
const BLOCKS: [string, string][] = [
  ["LayerNorm", "Add(Mul(Div(Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x)), c)), c))), c), c)"],
  ["LayerNorm", "Add(Mul(Mul(Sub(x, ReduceMean(x)), Reciprocal(Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x)), c)), c)))), c), c)"],
  ["LayerNorm", "Div(Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Pow(Sub(x, ReduceMean(x)), c)), c)))"],
  ["LayerNorm", "Add(Mul(Div(Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Mul(Sub(x, ReduceMean(x)), Sub(x, ReduceMean(x)))), c))), c), c)"],
  ["RMSNorm", "Mul(Div(x, Sqrt(Add(ReduceMean(Pow(x, c)), c))), c)"],
  ["RMSNorm", "Mul(Mul(x, Reciprocal(Sqrt(Add(ReduceMean(Pow(x, c)), c)))), c)"],
  ["RMSNorm", "Mul(Mul(x, Div(c, Sqrt(Add(ReduceMean(Pow(x, c)), c)))), c)"],
  ["GELU", "Mul(Mul(x, Add(Erf(Div(x, c)), c)), c)"],
  ["GELU", "Mul(Mul(x, c), Add(Erf(Div(x, c)), c))"],
  ["GELU", "Mul(Mul(x, c), Add(Erf(Mul(x, c)), c))"],
  ["GELU", "Mul(Mul(x, c), Add(Tanh(Mul(Add(x, Mul(Pow(x, c), c)), c)), c))"],
  ["GELU", "Mul(Mul(x, Add(Tanh(Mul(Add(x, Mul(Pow(x, c), c)), c)), c)), c)"],
  ["Quick GELU", "Mul(x, Sigmoid(Mul(x, c)))"],
  ["SiLU", "Mul(x, Sigmoid(x))"],
  ["Mish", "Mul(x, Tanh(Softplus(x)))"],
  ["HardSwish", "Mul(x, HardSigmoid(x))"],
  ["HardSwish", "Div(Mul(x, Clip(Add(x, c), c, c)), c)"],
  ["HardSwish", "Mul(Mul(x, Clip(Add(x, c), c, c)), c)"],
  ["HardSwish", "Mul(x, Div(Clip(Add(x, c), c, c), c))"],
  ["GLU", "Mul(x, Sigmoid(y))"],
  ["Gated tanh", "Mul(Tanh(x), Sigmoid(y))"],
  ["Linear", "Add(MatMul(x, c), c)"],
];

interface Pattern {
  op: string; // an operator, or x, y, c
  inputs: Pattern[];
}

function parsed(text: string): Pattern {
  let at = 0;
  const read = (): Pattern => {
    const word = /^\w+/.exec(text.slice(at))![0];
    at += word.length;
    const inputs: Pattern[] = [];
    if (text[at] !== "(") return { op: word, inputs };
    while (text[at] !== ")") {
      at += text[at] === "," ? 2 : 1;
      inputs.push(read());
    }
    at += 1;
    return { op: word, inputs };
  };
  return read();
}

const PATTERNS = BLOCKS.map(([label, text]) => ({ label, pattern: parsed(text) }));
const EITHER_ORDER = new Set(["Add", "Mul"]);

interface Match {
  bound: Map<string, string>;
  nodes: Set<number>;
}

export interface Block {
  label: string;
  root: number; // its last node
  nodes: number[];
}

class Matcher {
  constructor(
    private readonly report: Report,
    private readonly inputs: Set<string>,
  ) {}

  private constant(value: string): boolean {
    return value !== "" && !this.report.maker.has(value) && !this.inputs.has(value);
  }

  private value(pattern: Pattern, value: string, match: Match): Match | undefined {
    if (pattern.op === "c") return this.constant(value) ? match : undefined;
    if (pattern.inputs.length === 0) {
      const known = match.bound.get(pattern.op);
      if (known !== undefined) return known === value ? match : undefined;
      if (value === "" || this.constant(value)) return undefined;
      return { ...match, bound: new Map(match.bound).set(pattern.op, value) };
    }
    const node = this.report.maker.get(value);
    return node === undefined ? undefined : this.node(pattern, node, match);
  }

  node(pattern: Pattern, index: number, match: Match): Match | undefined {
    const node = this.report.data.nodes[index]!;
    if (node.op !== pattern.op) return undefined;
    // Further inputs of the operator (axes, limits) may only be constants.
    const given = node.in.slice(0, pattern.inputs.length);
    if (given.length < pattern.inputs.length) return this.withoutLimits(pattern, index, match);
    if (!node.in.slice(pattern.inputs.length).every((one) => one === "" || this.constant(one))) return undefined;
    const nodes = new Set(match.nodes).add(index);
    const inOrder = this.all(pattern.inputs, given, { ...match, nodes });
    if (inOrder || !EITHER_ORDER.has(node.op)) return inOrder;
    return this.all(pattern.inputs, [given[1]!, given[0]!], { ...match, nodes });
  }

  // Before opset 11 the limits of Clip are attributes.
  private withoutLimits(pattern: Pattern, index: number, match: Match): Match | undefined {
    if (pattern.op !== "Clip" || this.report.data.nodes[index]!.in.length !== 1) return undefined;
    return this.node({ op: "Clip", inputs: pattern.inputs.slice(0, 1) }, index, match);
  }

  private all(patterns: Pattern[], values: string[], match: Match): Match | undefined {
    let now: Match | undefined = match;
    for (let i = 0; now && i < patterns.length; i += 1) now = this.value(patterns[i]!, values[i]!, now);
    return now;
  }

  // Values inside the block are used nowhere else.
  closed(root: number, nodes: Set<number>, outputs: Set<string>): boolean {
    return [...nodes].every(
      (one) =>
        one === root ||
        this.report.data.nodes[one]!.out.every(
          (value) => !outputs.has(value) && (this.report.users.get(value) ?? []).every((user) => nodes.has(user)),
        ),
    );
  }
}

// Blocks without common nodes; larger patterns first.
export function blocksOf(report: Report): Block[] {
  const outputs = new Set(report.data.outputs ?? []);
  const matcher = new Matcher(report, new Set(report.data.inputs ?? []));
  const taken = new Set<number>();
  const blocks: Block[] = [];
  for (const { label, pattern } of PATTERNS)
    report.data.nodes.forEach((node, index) => {
      if (node.op !== pattern.op || taken.has(index)) return;
      const match = matcher.node(pattern, index, { bound: new Map(), nodes: new Set() });
      if (!match || [...match.nodes].some((one) => taken.has(one))) return;
      if (!matcher.closed(index, match.nodes, outputs)) return;
      for (const one of match.nodes) taken.add(one);
      blocks.push({ label, root: index, nodes: [...match.nodes] });
    });
  return blocks;
}
