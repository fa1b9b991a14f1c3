// The top of the page: is it still good, what is to blame, what to do next.
import { useMemo } from "preact/hooks";
import { Copy } from "./copy";
import type { Level, Report } from "./data";
import { signedText } from "./format";
import { harmText, harmsOf, type Harm } from "./harm";
import { isJudged, STATE_HINT } from "./judged";
import type { Selection } from "./selection";

interface Props {
  report: Report;
  onSelect: (selection: Selection) => void;
  onExclude: (nodes: number[]) => void;
  onOutputs: () => void;
}

const SIGNS: Record<Level, string> = { ok: "✓", degraded: "!", broken: "✗", unknown: "?" };
const BLAMED = 3; // layers
const LEAST = 0.001; // noise of a layer that is blamed

export function Summary({ report, onSelect, onExclude, onOutputs }: Props) {
  const blamed = useMemo(
    () => harmsOf(report).filter((one) => one.noise >= LEAST && one.noise < 1e8).slice(0, BLAMED),
    [report],
  );
  const { verdict } = report.data;
  if (!verdict) return null;
  const judged = verdict.parts.filter(isJudged);
  const parts = judged.length;
  const states = new Set(verdict.parts.filter((one) => !isJudged(one)).map((one) => one.output)).size;
  const bad = judged.filter((one) => one.level !== "ok").length;
  return (
    <section class={`verdict ${verdict.level}`} aria-label="Verdict">
      <div class="answer good-still">
        <h2>Is it still good?</h2>
        <p class="level">
          <i aria-hidden="true">{SIGNS[verdict.level]}</i> <b>{verdict.level}</b>
        </p>
        <p class="why">{signedText(verdict.reason)}</p>
        {parts > 1 && (
          <button class="link" onClick={onOutputs}>
            {bad > 0 ? `${bad} of ${parts}` : `all ${parts}`} parts of the outputs {bad > 0 ? "are not ok" : "are ok"}
          </button>
        )}
        {states > 0 && (
          <p class="dim states" title={STATE_HINT}>
            {states === 1 ? "1 state is" : `${states} states are`} not judged
          </p>
        )}
      </div>
      {blamed.length > 0 && (
        <div class="answer blame">
          <h2 title={blamed[0]!.measured ? "Measured at the outputs: 1 is what a verdict of ok permits" : "Noise that the layer adds to its own output"}>
            What is to blame?
          </h2>
          <Blamed report={report} harms={blamed} onSelect={onSelect} />
        </div>
      )}
      <div class="answer next">
        <h2>What to do next?</h2>
        <Next report={report} blamed={blamed} onExclude={onExclude} />
      </div>
    </section>
  );
}

function Blamed({ report, harms, onSelect }: { report: Report; harms: Harm[]; onSelect: Props["onSelect"] }) {
  return (
    <ol>
      {harms.map((harm) => {
        const node = report.data.nodes[harm.node]!;
        return (
          <li key={harm.node}>
            <button class="link name" title={node.name} onClick={() => onSelect({ node: harm.node })}>
              <bdi>{node.name || node.out[0]}</bdi>
            </button>{" "}
            <span class="dim">
              {node.op}, {harmText(harm.noise, harm.measured)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function Next({ report, blamed, onExclude }: { report: Report; blamed: Harm[]; onExclude: Props["onExclude"] }) {
  const { verdict, recipe } = report.data;
  if (!verdict || verdict.level === "unknown") return <p>Compare both models on samples that calibration has not seen.</p>;
  const exclude = blamed.filter((one) => report.data.nodes[one.node]!.name).map((one) => one.node);
  if (verdict.level === "ok") return <p>Nothing: use it. Test it once more on data that calibration has not seen.</p>;
  return (
    <>
      {verdict.recipe && verdict.recipe !== recipe && (
        <p>
          Try <code class="word">--recipe {verdict.recipe}</code> <Copy text={`--recipe ${verdict.recipe}`} />
        </p>
      )}
      {exclude.length > 0 && (
        <p>
          {verdict.recipe ? "Or leave" : "Leave"} these {exclude.length === 1 ? "layer" : `${exclude.length} layers`} in float:{" "}
          <button class="button small" onClick={() => onExclude(exclude)}>
            Put them into a recipe
          </button>
        </p>
      )}
    </>
  );
}
