// Everything about the selected node.
import { Copy } from "./copy";
import type { GraphNode, Report } from "./data";
import { Fact, Panel } from "./panel";
import { outcomeLabel } from "./colors";
import { bytes, count, decibels, DASH, milliseconds, real } from "./format";
import { widerThan, type Rule } from "./recipe";
import { runName } from "./run_name";
import { TensorView, WeightView } from "./tensor_view";
import type { Selection } from "./selection";
import { bytesOf } from "./types";

interface Props {
  report: Report;
  others: Report[];
  node: number;
  rules: Rule[];
  theme: string;
  onSelect: (selection: Selection) => void;
  onRule: (name: string, scheme: string | undefined) => void;
  onClose: () => void;
}

export function NodePanel({ report, others, node: index, rules, theme, onSelect, onRule, onClose }: Props) {
  const node = report.data.nodes[index]!;
  const distinct = <T,>(list: (T | undefined)[]): T[] => [...new Set(list.filter((one) => one !== undefined))] as T[];
  const tensors = distinct(node.out.map((value) => report.tensor(value)));
  const inputs = distinct(node.in.map((value) => report.tensor(value)));
  const weights = distinct(node.in.map((value) => report.weight(value)));
  return (
    <Panel title={node.op} onClose={onClose}>
      <p class="names title-name">
        <span class="own-name">{node.name || "(no name)"}</span> {node.name && <Copy text={node.name} label="Copy name" />}
      </p>
      <RuleButtons node={node} rules={rules} onRule={onRule} />
      <dl>
        <Fact name="subgraph">{node.graph}</Fact>
        <Fact name="outcome">{node.outcome && outcomeLabel(node.outcome)}</Fact>
        <Fact name="formats">{node.to}</Fact>
        <Fact name="why">{node.reason}</Fact>
        <Errors report={report} others={others} node={node} />
        <Fact name="MACs" title="Multiply-accumulates of one run">
          {node.macs === undefined ? undefined : count(node.macs)}
        </Fact>
        <Fact name="time" title="Of one run, with the nodes that are fused with it">
          {node.ms === undefined && node.ms_before === undefined
            ? undefined
            : node.ms_before === undefined
              ? milliseconds(node.ms)
              : `${milliseconds(node.ms_before)} → ${node.ms === undefined ? "fused" : milliseconds(node.ms)}`}
        </Fact>
      </dl>
      <Ports report={report} node={node} onSelect={onSelect} />
      {node.attributes && (
        <>
          <h3>Attributes</h3>
          <dl>
            {Object.entries(node.attributes).map(([name, value]) => (
              <Fact key={name} name={name}>
                {value}
              </Fact>
            ))}
          </dl>
        </>
      )}
      {tensors.length > 0 && <h3>Output</h3>}
      {tensors.map((one) => (
        <TensorView key={one.name} tensor={one} theme={theme} />
      ))}
      {weights.length > 0 && <h3>Weights</h3>}
      {weights.map((one) => (
        <WeightView key={one.name} weight={one} theme={theme} />
      ))}
      {inputs.length > 0 && <h3>Input</h3>}
      {inputs.map((one) => (
        <TensorView key={one.name} tensor={one} theme={theme} />
      ))}
    </Panel>
  );
}

function RuleButtons({ node, rules, onRule }: { node: GraphNode; rules: Rule[]; onRule: Props["onRule"] }) {
  const rule = rules.find((one) => one.name === node.name);
  const wider = widerThan(node);
  const quantized = node.outcome !== undefined && node.outcome !== "float";
  if (!node.name || !quantized) return null;
  const button = (scheme: string, label: string, title: string) => (
    <button
      class="button small"
      aria-pressed={rule?.scheme === scheme}
      title={title}
      onClick={() => onRule(node.name, rule?.scheme === scheme ? undefined : scheme)}
    >
      {label}
    </button>
  );
  return (
    <div class="actions" role="group" aria-label="In a recipe">
      {button("float", "Leave in float", "Put a rule into the recipe: this node stays in float")}
      {wider && button(wider, `Wider: ${wider}`, `Put a rule into the recipe: this node gets ${wider}`)}
      {rule && <span class="dim">in the recipe</span>}
    </div>
  );
}

function Errors({ report, others, node }: { report: Report; others: Report[]; node: GraphNode }) {
  const measured = report.data.sensitivity?.find((one) => one.node === node.name && node.name !== "");
  return (
    <>
      <Fact name="SQNR in" title="The lowest of its inputs">
        {report.layers.length > 0 && report.sqnrIn(node) !== undefined ? decibels(report.sqnrIn(node)) : undefined}
      </Fact>
      {node.out.map((name) => {
        const layer = report.layer(name);
        return (
          layer && (
            <>
              <dt>SQNR out</dt>
              <dd data-sqnr={layer.sqnr_db}>
                {decibels(layer.sqnr_db)}
                {others.map((other) => (
                  <div key={runName(other)} class="dim">
                    {runName(other)}: {decibels(other.layer(name)?.sqnr_db)}
                  </div>
                ))}
              </dd>
              <dt>cosine</dt>
              <dd>{real(layer.cosine) === DASH ? DASH : layer.cosine.toFixed(6)}</dd>
              <dt>largest error</dt>
              <dd>
                {real(layer.largest_error)} of {real(layer.largest_value)}
              </dd>
            </>
          )
        );
      })}
      {measured && (
        <>
          <Fact name="alone quantized" title="SQNR of the outputs if only this layer is quantized">
            {decibels(measured.alone_quantized_sqnr_db ?? undefined)}
          </Fact>
          <Fact name="alone in float" title="SQNR of the outputs if only this layer is left in float">
            {decibels(measured.alone_float_sqnr_db ?? undefined)}
          </Fact>
        </>
      )}
    </>
  );
}

// Inputs and outputs with their types, and the neighbours at their other ends.
function Ports({ report, node, onSelect }: { report: Report; node: GraphNode; onSelect: Props["onSelect"] }) {
  const neighbour = (index: number) => {
    const one = report.data.nodes[index]!;
    return (
      <button key={index} class="link neighbour" title={one.name} onClick={() => onSelect({ node: index })}>
        {one.op}
      </button>
    );
  };
  const row = (value: string, neighbours: number[], mark: string) => {
    const size = bytesOf(report.type(value));
    return (
      <li key={value}>
        <span class="names">{value}</span>
        <div class="dim">
          {report.type(value) ?? "type unknown"}
          {size !== undefined && `, ${bytes(size)}`}{" "}
          {neighbours.length > 0 && mark} {neighbours.slice(0, 12).map(neighbour)}
          {neighbours.length > 12 && ` and ${neighbours.length - 12} more`}
        </div>
      </li>
    );
  };
  const maker = (value: string): number[] => {
    const found = report.maker.get(value);
    return found === undefined ? [] : [found];
  };
  return (
    <>
      <h3>Inputs</h3>
      <ul class="ports">{node.in.filter(Boolean).map((value) => row(value, maker(value), "from"))}</ul>
      <h3>Outputs</h3>
      <ul class="ports">{node.out.filter(Boolean).map((value) => row(value, report.users.get(value) ?? [], "to"))}</ul>
    </>
  );
}
