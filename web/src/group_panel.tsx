// Everything about the selected module or block.
import { useMemo } from "preact/hooks";
import { Copy } from "./copy";
import type { Report } from "./data";
import { bytes, count, decibels, milliseconds } from "./format";
import { harmText, harmsOf, isQuantized } from "./harm";
import { Fact, Panel } from "./panel";
import { widerThan, type Rule } from "./recipe";
import type { Selection } from "./selection";
import { nodesIn, type Group, type Tree } from "./tree";

interface Props {
  report: Report;
  tree: Tree;
  group: Group;
  rules: Rule[];
  onSelect: (selection: Selection) => void;
  onRules: (names: string[], scheme: string | undefined) => void;
  onClose: () => void;
}

const LISTED = 10;

export function GroupPanel({ report, tree, group, rules, onSelect, onRules, onClose }: Props) {
  const nodes = useMemo(() => nodesIn(tree, group), [tree, group]);
  const harms = useMemo(() => {
    const inside = new Set(nodes);
    return harmsOf(report).filter((one) => inside.has(one.node));
  }, [report, nodes]);
  const sum = (value: (index: number) => number | undefined): number | undefined => {
    const known = nodes.map(value).filter((one) => one !== undefined);
    return known.length ? known.reduce((a, b) => a + b, 0) : undefined;
  };
  const node = (index: number) => report.data.nodes[index]!;
  const lowest = Math.min(...nodes.map((index) => report.sqnr(node(index)) ?? Infinity));
  const weights = new Set(nodes.flatMap((index) => node(index).in).filter((name) => report.weight(name)));
  const stored = [...weights].map((name) => report.weight(name)!);
  const ms = sum((index) => node(index).ms);
  const before = sum((index) => node(index).ms_before);
  // A rule by the module's name covers it; parts and blocks have rules for their nodes.
  const targets = group.path ? [group.path] : nodes.filter((i) => isQuantized(node(i)) && node(i).name).map((i) => node(i).name);
  const wider = nodes.map((index) => widerThan(node(index))).find((one) => one !== undefined);
  const given = rules.find((rule) => rule.name === targets[0]);
  const button = (scheme: string, label: string) => (
    <button
      class="button small"
      aria-pressed={given?.scheme === scheme}
      onClick={() => onRules(targets, given?.scheme === scheme ? undefined : scheme)}
    >
      {label}
    </button>
  );
  const quantized = nodes.filter((index) => isQuantized(node(index))).length;
  const floats = nodes.filter((index) => node(index).outcome === "float").length;
  return (
    <Panel title={group.label} onClose={onClose}>
      {group.path && (
        <p class="names title-name">
          <span class="own-name">{group.path}</span> <Copy text={group.path} label="Copy name" />
        </p>
      )}
      {quantized > 0 && targets.length > 0 && (
        <div class="actions" role="group" aria-label="In a recipe">
          {button("float", "Leave in float")}
          {wider && button(wider, `Wider: ${wider}`)}
          {given && <span class="dim">in the recipe</span>}
        </div>
      )}
      <dl>
        <Fact name="nodes">{`${count(nodes.length)}, ${count(quantized)} quantized, ${count(floats)} in float`}</Fact>
        <Fact name="lowest SQNR">{lowest < Infinity ? decibels(lowest) : undefined}</Fact>
        <Fact name="all its layers add">
          {harms.length > 0 ? harmText(harms.reduce((all, one) => all + one.noise, 0), harms[0]!.measured) : undefined}
        </Fact>
        <Fact name="MACs">{sum((index) => node(index).macs)?.toLocaleString("en")}</Fact>
        <Fact name="weights">
          {stored.length > 0
            ? `${bytes(stored.reduce((all, one) => all + one.bytes_before, 0))} → ${bytes(stored.reduce((all, one) => all + (one.bytes_after ?? one.bytes_before), 0))}`
            : undefined}
        </Fact>
        <Fact name="time">
          {ms === undefined ? undefined : before === undefined ? milliseconds(ms) : `${milliseconds(before)} → ${milliseconds(ms)}`}
        </Fact>
      </dl>
      {harms.length > 0 && <h3>Layers by their harm</h3>}
      <ul class="ports">
        {harms.slice(0, LISTED).map((one) => (
          <li key={one.node}>
            <button class="link names" onClick={() => onSelect({ node: one.node })}>
              {node(one.node).name || node(one.node).out[0]}
            </button>
            <div class="dim">
              {node(one.node).op}, {harmText(one.noise, one.measured)}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
