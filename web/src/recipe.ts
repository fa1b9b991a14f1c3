// The recipe that the page's buttons put together: the preset of the report with rules for single nodes and modules.
import type { GraphNode, Report } from "./data";

export interface Rule {
  name: string; // of a node or module
  scheme: string; // "float", or a preset
}

// The next wider preset for a node: of activations first, because weights keep their size.
const WIDER: [RegExp, string][] = [
  [/^u?int16\b.*u?int8/, "int16"],
  [/u?int[2-7]\b/, "int8"],
  [/^u?int8/, "int16x8"],
  [/(fp|mx|minifloat|bfp|log|block|fixed|ternary|binary|nvfp)/, "float16"],
];

export function widerThan(node: GraphNode): string | undefined {
  if (!node.to) return undefined;
  if (node.outcome === "weights only") return /int[2-7]\b/.test(node.to) ? "w8" : "w16";
  return WIDER.find(([pattern]) => pattern.test(node.to!))?.[1];
}

const EXCLUDED = "the recipe leaves it in float"; // the reason that the engine gives
const isPreset = (recipe: string): boolean => /^[a-z][a-z0-9-]*$/.test(recipe);
const quoted = (name: string): string => JSON.stringify(name);

export function recipeText(report: Report, rules: Rule[]): string {
  const recipe = report.data.recipe ?? "int8";
  const lines = isPreset(recipe) ? [`global: ${recipe}`] : [`# add to ${recipe}`];
  // What the run excluded is not part of its preset.
  const before = report.data.nodes
    .filter((node) => isPreset(recipe) && node.name && node.reason === EXCLUDED)
    .map(({ name }) => ({ name, scheme: "float" }));
  const all = [...before.filter((one) => !rules.some((rule) => rule.name === one.name)), ...rules];
  if (all.length > 0) lines.push("name:", ...all.map((rule) => `  ${quoted(rule.name)}: ${rule.scheme}`));
  return `${lines.join("\n")}\n`;
}

const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function commandOf(report: Report, recipe = "mixed.yaml"): string {
  const before = report.data.before?.file ?? "MODEL.onnx";
  const after = report.data.after?.file ?? before;
  const output = after.replace(/(\.onnx)?$/, `.${recipe.replace(/\.\w+$/, "")}.onnx`);
  return `anybit quantize ${word(before)} -o ${word(output)} --recipe ${word(recipe)} --calib SAMPLES --report ${word(output.replace(/onnx$/, "html"))}`;
}
