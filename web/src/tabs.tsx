// The tabs, and the choice of an output that the network and the layers are reduced to.
import type { Report } from "./data";

const ALL = ["graph", "layers", "tensors", "left", "outputs", "recipe", "runs"] as const;
export type Tab = "sweep" | "training" | (typeof ALL)[number];
const NAMES: Record<Tab, [string, string]> = {
  sweep: ["Recipes", "Recipes"],
  graph: ["Network", "Network"],
  layers: ["Layers", "Layers"],
  tensors: ["Tensors", "Tensors"],
  left: ["Left in float", "Float"],
  outputs: ["Outputs", "Outputs"],
  recipe: ["Recipe", "Recipe"],
  runs: ["Compare", "Others"],
  training: ["Training", "Training"],
};

// A sweep without a quantized model has nothing to tell of layers.
export const tabsOf = ({ data }: Report): Tab[] =>
  data.sweep
    ? data.after
      ? ["sweep", ...ALL]
      : ["sweep", "graph"]
    : data.training
      ? [...ALL, "training"]
      : [...ALL];

interface Props {
  tabs: Tab[];
  tab: Tab;
  counts: Partial<Record<Tab, number>>;
  outputs: { name: string; label: string }[];
  output: string | undefined;
  onTab: (tab: Tab) => void;
  onOutput: (output: string | undefined) => void;
}

export function Tabs({ tabs, tab, counts, outputs, output, onTab, onOutput }: Props) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabrow">
      <div class="tabs" role="tablist" onKeyDown={move}>
        {tabs.map((one) => (
          <button
            key={one}
            id={`tab-${one}`}
            role="tab"
            aria-selected={tab === one}
            aria-controls="panel"
            tabIndex={tab === one ? 0 : -1}
            onClick={() => onTab(one)}
          >
            <span class="long">{NAMES[one][0]}</span>
            <span class="short">{NAMES[one][1]}</span>
            {counts[one] !== undefined && <small>{counts[one]!.toLocaleString("en")}</small>}
          </button>
        ))}
      </div>
      {outputs.length > 1 && (
        <label class="check">
          output{" "}
          <select
            id="output"
            value={output ?? ""}
            onChange={(event) => onOutput(event.currentTarget.value || undefined)}
          >
            <option value="">all {outputs.length}</option>
            {outputs.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}
