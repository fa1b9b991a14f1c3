// The recipe that the buttons of the page put together, to copy, with the command that uses it.
import { Copy } from "./copy";
import type { Report } from "./data";
import { commandOf, recipeText, type Rule } from "./recipe";

interface Props {
  report: Report;
  rules: Rule[];
  onRemove: (name: string) => void;
  onClear: () => void;
}

export function RecipeView({ report, rules, onRemove, onClear }: Props) {
  if (rules.length === 0)
    return (
      <div class="empty">
        <h3>No layer is changed yet</h3>
        <p>
          Select a node or a module in the network. “Leave in float” and “Wider” put a rule for it here, in a recipe for{" "}
          <code>anybit quantize</code>.
        </p>
      </div>
    );
  const text = recipeText(report, rules);
  const command = commandOf(report);
  return (
    <div class="recipe column detail">
      <h3>1. Save this as mixed.yaml</h3>
      <pre id="recipe-text">{text}</pre>
      <p>
        <Copy text={text} label="Copy the recipe" />{" "}
        <button class="button small" onClick={onClear}>
          Remove all
        </button>
      </p>
      <h3>2. Quantize again, with your calibration data in the place of SAMPLES</h3>
      <pre id="recipe-command">{command}</pre>
      <p>
        <Copy text={command} label="Copy the command" />
      </p>
      <h3>The rules</h3>
      <ul class="rules">
        {rules.map((rule) => (
          <li key={rule.name}>
            <span class="names">{rule.name}</span> <b>{rule.scheme}</b>{" "}
            <button class="button small" aria-label={`Remove ${rule.name}`} onClick={() => onRemove(rule.name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
