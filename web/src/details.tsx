// Details of a node: outcome and reason, inputs and outputs, histograms.
import { useLayoutEffect, useRef } from "preact/hooks";
import { outcomeLabel } from "./colors";
import type { Report } from "./data";
import { decibels, real } from "./format";
import { TensorView, WeightView } from "./tensors";

interface Props {
  report: Report;
  other: Report | undefined;
  node: number;
  theme: string;
  onSelect: (node: number) => void;
  onClose: () => void;
}

export function Details({ report, other, node: index, theme, onSelect, onClose }: Props) {
  const node = report.data.nodes[index]!;
  // On a phone the panel is below the clicked node, out of view.
  const head = useRef<HTMLElement>(null);
  useLayoutEffect(() => head.current!.scrollIntoView({ block: "nearest" }), []);
  const tensors = [
    ...new Set(node.out.map((value) => report.tensor(value)).filter((one) => one !== undefined)),
  ];
  const inputs = [
    ...new Set(node.in.map((value) => report.tensor(value)).filter((one) => one !== undefined)),
  ];
  const weights = node.in.map((value) => report.weight(value)).filter((one) => one !== undefined);
  const value = (name: string, target: number | undefined) =>
    target === undefined ? (
      <span class="names">{name}</span>
    ) : (
      <button class="link names" onClick={() => onSelect(target)}>
        {name}
      </button>
    );
  return (
    <aside class="details" aria-label="The selected node">
      <header ref={head}>
        <div>
          <h2>{node.op}</h2>
          <p class="names">{node.name || "(no name)"}</p>
        </div>
        <button class="button" aria-label="Close" title="Close (Escape)" onClick={onClose}>
          ×
        </button>
      </header>
      <dl>
        {node.graph && (
          <>
            <dt>subgraph</dt>
            <dd>{node.graph}</dd>
          </>
        )}
        {node.outcome && (
          <>
            <dt>outcome</dt>
            <dd>{outcomeLabel(node.outcome)}</dd>
          </>
        )}
        {node.to && (
          <>
            <dt>to</dt>
            <dd>{node.to}</dd>
          </>
        )}
        {node.reason && (
          <>
            <dt>reason</dt>
            <dd>{node.reason}</dd>
          </>
        )}
        {node.out.map((name) => {
          const layer = report.layer(name);
          return (
            layer && (
              <>
                <dt>SQNR</dt>
                <dd data-sqnr={layer.sqnr_db}>
                  {decibels(layer.sqnr_db)}
                  {other?.layer(name) && (
                    <span class="dim"> (other report {decibels(other.layer(name)!.sqnr_db)})</span>
                  )}
                </dd>
                <dt>cosine</dt>
                <dd>{layer.cosine.toFixed(6)}</dd>
                <dt>largest error</dt>
                <dd>
                  {real(layer.largest_error)} of {real(layer.largest_value)}
                </dd>
              </>
            )
          );
        })}
        <dt>in</dt>
        <dd>
          {node.in.filter(Boolean).map((name) => (
            <div key={name}>{value(name, report.maker.get(name))}</div>
          ))}
        </dd>
        <dt>out</dt>
        <dd>
          {node.out.filter(Boolean).map((name) => (
            <div key={name}>{value(name, report.users.get(name)?.[0])}</div>
          ))}
        </dd>
      </dl>
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
    </aside>
  );
}
