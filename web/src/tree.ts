// Modules, blocks and stages of the network as a tree of groups, each of which can be drawn as one box.
import { networkOf, type Network } from "./order";
import type { Report } from "./data";

export interface Group {
  key: string; // stays the same in every drawing of the report
  kind: "module" | "block" | "stage"; // a stage: nodes that follow each other, without a name
  label: string;
  path: string; // of a module as the model's node names begin; "" if the module is split, or has no name
  first: number; // items first … last of the network
  last: number;
  children: Entry[];
  parent: Group | undefined;
}
export type Entry = Group | number; // a number: an item
export const isGroup = (entry: Entry): entry is Group => typeof entry !== "number";

export interface Tree {
  network: Network;
  root: Group;
  groups: Map<string, Group>;
  itemOf: Map<number, number>; // the item of each node
}

const MOST_CHILDREN = 40;
const LOOSE = 6; // nodes without a module between modules become a stage
const SLACK = 0.35; // how far from its ideal place a stage may end, in its length

export function treeOf(report: Report): Tree {
  const network = networkOf(report);
  const { items } = network;
  const parts = new Map<string, number>();
  const made = new Map<string, number>();
  const slash = report.data.nodes.some((node) => node.name.startsWith("/")) ? "/" : "";
  const crossing = crossings(network);

  // Runs of items of one module.
  const gather = (first: number, last: number, depth: number): Entry[] => {
    const entries: Entry[] = [];
    for (let at = first; at <= last; ) {
      const module = items[at]!.modules[depth];
      let end = at;
      while (module !== undefined && end < last && items[end + 1]!.modules[depth] === module) end += 1;
      if (module === undefined || end === at) {
        entries.push(at);
      } else {
        parts.set(module, (parts.get(module) ?? 0) + 1);
        entries.push(moduleGroup(module, at, end, depth));
      }
      at = end + 1;
    }
    return entries;
  };
  const moduleGroup = (module: string, first: number, last: number, depth: number): Group => {
    const children = gather(first, last, depth + 1);
    const block = network.blocks.get(module);
    const label = block?.label ?? module.slice(module.lastIndexOf("/") + 1);
    const key = `${block ? "block" : "module"} ${module} ${first}`;
    const whole = block?.nodes.length === last - first + 1;
    const kind = block ? (whole ? "block" : "stage") : "module";
    const only = children.length === 1 ? children[0]! : undefined;
    if (only !== undefined && isGroup(only))
      return only.kind === "module"
        ? { ...only, label: `${label}/${only.label}` }
        : { ...only, path: kind === "module" ? slash + module : "" };
    return { key, kind, label, path: block ? "" : slash + module, first, last, children, parent: undefined };
  };

  const firstOf = (entry: Entry): number => (isGroup(entry) ? entry.first : entry);
  const lastOf = (entry: Entry): number => (isGroup(entry) ? entry.last : entry);
  const stage = (entries: Entry[]): Group => {
    const [first, last] = [firstOf(entries[0]!), lastOf(entries[entries.length - 1]!)];
    const ops = [items[first]!.label, items[last]!.label];
    const label = ops[0] === ops[1] ? ops[0]! : ops.join(" … ");
    return { key: `stage ${first} ${last}`, kind: "stage", label, path: "", first, last, children: entries, parent: undefined };
  };
  // Long lists of children are cut into stages, where few values cross.
  const staged = (entries: Entry[]): Entry[] => {
    if (entries.length <= MOST_CHILDREN) return entries;
    const count = Math.min(MOST_CHILDREN, Math.ceil(Math.sqrt(entries.length)));
    const length = entries.length / count;
    const list: Entry[] = [];
    let begin = 0;
    for (let i = 1; i <= count; i += 1) {
      let end = Math.round(i * length);
      if (i < count) {
        const from = Math.max(begin + 1, Math.round(end - SLACK * length));
        const to = Math.min(entries.length - 1, Math.round(end + SLACK * length));
        for (let cut = from; cut <= to; cut += 1)
          if (crossing[lastOf(entries[cut - 1]!)]! < crossing[lastOf(entries[end - 1]!)]!) end = cut;
      }
      const part = entries.slice(begin, end);
      if (part.length > 1) list.push({ ...stage(part), children: staged(part) });
      else list.push(...part);
      begin = end;
    }
    return list;
  };
  const withStages = (entries: Entry[]): Entry[] => {
    const list: Entry[] = [];
    let loose: Entry[] = [];
    const flush = (): void => {
      if (loose.length >= LOOSE && loose.length < entries.length) list.push(stage(loose));
      else list.push(...loose);
      loose = [];
    };
    const sorted = entries.some((entry) => isGroup(entry) && entry.kind === "module");
    for (const entry of entries) {
      const plain = isGroup(entry) ? entry.kind === "block" : items[entry]!.node >= 0;
      if (plain && sorted) loose.push(entry);
      else {
        flush();
        list.push(entry);
      }
    }
    flush();
    return staged(list);
  };
  const groups = new Map<string, Group>();
  const finish = (group: Group): void => {
    if (group.kind !== "stage") group.children = withStages(group.children);
    groups.set(group.key, group);
    const module = group.path.slice(slash.length);
    if (group.kind === "module" && (parts.get(module) ?? 0) > 1) {
      made.set(module, (made.get(module) ?? 0) + 1);
      group.label = `${group.label}, part ${made.get(module)}`;
      group.path = "";
    }
    for (const child of group.children) {
      if (!isGroup(child)) continue;
      child.parent = group;
      finish(child);
    }
  };
  const root: Group = {
    key: "", kind: "module", label: "", path: "", first: 0, last: items.length - 1,
    children: gather(0, items.length - 1, 0), parent: undefined,
  };
  finish(root);
  const itemOf = new Map<number, number>();
  items.forEach(({ node }, i) => {
    if (node >= 0) itemOf.set(node, i);
  });
  return { network, root, groups, itemOf };
}

// How many links pass between item i and i + 1.
function crossings({ items, links }: Network): number[] {
  const change = new Array<number>(items.length + 1).fill(0);
  for (const { from, to } of links) {
    change[from]! += 1;
    change[to]! -= 1;
  }
  let now = 0;
  return items.map((_, i) => (now += change[i]!));
}

// The groups around an item, the outermost first, without the root.
export function groupsAround(tree: Tree, item: number): Group[] {
  const around: Group[] = [];
  let group = tree.root;
  for (;;) {
    const inner = group.children.find(
      (child): child is Group => isGroup(child) && child.first <= item && item <= child.last,
    );
    if (!inner) return around;
    around.push(inner);
    group = inner;
  }
}

export function nodesIn(tree: Tree, group: Group): number[] {
  return tree.network.items
    .slice(group.first, group.last + 1)
    .map((item) => item.node)
    .filter((node) => node >= 0);
}

// Groups that are open at first: the largest, as long as there are at most `budget` boxes.
export function openAtFirst(tree: Tree, budget: number): Set<string> {
  const open = new Set<string>();
  let boxes = tree.root.children.length;
  const closed = tree.root.children.filter(isGroup);
  for (;;) {
    const fitting = closed.filter(
      (group) => group.kind !== "block" && boxes + group.children.length - 1 <= budget,
    );
    if (fitting.length === 0) return open;
    const largest = fitting.reduce((a, b) => (b.last - b.first > a.last - a.first ? b : a));
    open.add(largest.key);
    closed.splice(closed.indexOf(largest), 1, ...largest.children.filter(isGroup));
    boxes += largest.children.length - 1;
  }
}
