// The nodes of the network in an order that keeps every module together, as far as the data flow allows. Any part of it
// that is without gaps can be one box, and no path leaves a box and returns.
import type { Report } from "./data";
import { blocksOf, type Block } from "./patterns";

export interface Item {
  node: number; // in the report; -1: an input or output of the model
  label: string;
  modules: string[]; // from the outermost; a block is the innermost
  block?: string | undefined;
}
export interface Link {
  from: number; // items
  to: number;
}
export interface Network {
  items: Item[]; // in the order
  links: Link[]; // from < to
  blocks: Map<string, Block>; // by their name in `modules`
}

const DEEPEST = 24; // modules in modules
const MOST_COMPARED = 512; // nodes that are ready at once

// "/encoder/layer.0/attention/MatMul" lies in encoder, encoder/layer.0 and encoder/layer.0/attention.
function modulesOf(name: string): string[] {
  const parts = name.split("/").slice(0, -1);
  if (parts[0] === "") parts.shift();
  return parts.slice(0, DEEPEST).map((_, i) => parts.slice(0, i + 1).join("/"));
}

function itemsOf(report: Report): { items: Item[]; links: Link[]; blocks: Map<string, Block> } {
  const blocks = new Map<string, Block>();
  const inBlock = new Map<number, string>();
  for (const block of blocksOf(report)) {
    const key = `block ${block.root}`;
    blocks.set(key, block);
    for (const node of block.nodes) inBlock.set(node, key);
  }
  const items: Item[] = [];
  const links: Link[] = [];
  const place = new Map<string, number>();
  const inputs = new Set(report.data.inputs ?? []);
  const outputs = new Set(report.data.outputs ?? []);
  const link = (value: string, to: number): void => {
    const from = place.get(value);
    if (from !== undefined && from !== to) links.push({ from, to });
  };
  report.data.nodes.forEach((node, index) => {
    for (const value of node.in) {
      if (!inputs.has(value) || place.has(value)) continue;
      place.set(value, items.length);
      items.push({ node: -1, label: value, modules: [] });
    }
    const at = items.length;
    const block = inBlock.get(index);
    const modules = modulesOf(node.name || node.out[0] || "");
    items.push({ node: index, label: node.op, modules, block });
    for (const value of new Set(node.in)) link(value, at);
    for (const value of node.out) if (value) place.set(value, at);
    for (const value of node.out) {
      if (!outputs.has(value)) continue;
      items.push({ node: -1, label: value, modules: [] });
      link(value, items.length - 1);
    }
  });
  return { items, links, blocks };
}

const shared = (a: string[], b: string[]): number => {
  let depth = 0;
  while (depth < a.length && depth < b.length && a[depth] === b[depth]) depth += 1;
  return depth;
};

// A node without a module that works for one (shapes and masks that an optimizer made) belongs to it: all that it
// computes goes there, and some of what it computes it from comes from there.
function adopt(items: Item[], links: Link[]): void {
  const below: (string[] | undefined)[] = items.map(() => undefined); // what the modules of all consumers have in common
  const loose = items.map((item) => item.modules.length === 0 && item.node >= 0);
  const own = (i: number): string[] | undefined => (loose[i] ? below[i] : items[i]!.modules);
  for (const { from, to } of [...links].sort((a, b) => b.to - a.to)) {
    const there = own(to);
    if (!loose[from] || !there) continue;
    const known = below[from];
    below[from] = known ? known.slice(0, shared(known, there)) : there;
  }
  const depth = items.map(() => -1); // of the deepest producer within `below`; -1: constants only
  for (const { from, to } of [...links].sort((a, b) => a.from - b.from)) {
    if (loose[from]) settle(items[from]!, below[from], depth[from]!);
    if (loose[to]) depth[to] = Math.max(depth[to]!, shared(items[from]!.modules, below[to] ?? []));
  }
}

function settle(item: Item, below: string[] | undefined, depth: number): void {
  if (below) item.modules = depth < 0 ? below : below.slice(0, depth);
}

// All nodes of a block lie in the module of its last.
function together(items: Item[], blocks: Map<string, Block>): void {
  const places = new Map(items.map((item, i) => [item.node, i]));
  for (const { root, nodes } of blocks.values()) {
    const { modules } = items[places.get(root)!]!;
    for (const node of nodes) items[places.get(node)!]!.modules = modules;
  }
}

// Kahn's algorithm. Of the nodes whose inputs are computed, the next is one in the innermost module of the last; else
// one that enters a module whose inputs are all computed; else the first in the file.
function ordered(items: Item[], links: Link[]): number[] {
  const next: number[][] = items.map(() => []);
  const waiting = items.map(() => 0);
  const missing = new Map<string, number>(); // inputs of each module that are not computed yet
  for (const { from, to } of links) {
    next[from]!.push(to);
    waiting[to]! += 1;
    const modules = items[to]!.modules;
    for (let i = shared(items[from]!.modules, modules); i < modules.length; i += 1)
      missing.set(modules[i]!, (missing.get(modules[i]!) ?? 0) + 1);
  }
  const ready = items.map((_, i) => i).filter((i) => waiting[i] === 0);
  const order: number[] = [];
  let last: string[] = [];
  while (ready.length > 0) {
    let best = ready.length - 1;
    let bestDepth = -1;
    let bestBlocked = 0;
    for (let i = Math.max(0, ready.length - MOST_COMPARED); i < ready.length; i += 1) {
      const one = ready[i]!;
      const { modules } = items[one]!;
      const depth = shared(modules, last);
      if (depth < bestDepth) continue;
      const blocked = modules.slice(depth).filter((module) => missing.get(module)).length;
      const better =
        depth > bestDepth || blocked < bestBlocked || (blocked === bestBlocked && one < ready[best]!);
      if (better) [best, bestDepth, bestBlocked] = [i, depth, blocked];
    }
    const one = ready[best]!;
    ready[best] = ready[ready.length - 1]!;
    ready.pop();
    order.push(one);
    last = items[one]!.modules;
    for (const to of next[one]!) {
      const { modules } = items[to]!;
      for (let i = shared(last, modules); i < modules.length; i += 1)
        missing.set(modules[i]!, missing.get(modules[i]!)! - 1);
      waiting[to]! -= 1;
      if (waiting[to] === 0) ready.push(to);
    }
  }
  return order;
}

export function networkOf(report: Report): Network {
  const { items, links, blocks } = itemsOf(report);
  adopt(items, links);
  together(items, blocks);
  for (const item of items) if (item.block !== undefined) item.modules = [...item.modules, item.block];
  const order = ordered(items, links);
  const at = items.map(() => -1);
  order.forEach((item, i) => {
    at[item] = i;
  });
  return {
    items: order.map((item) => items[item]!),
    // A file with a cycle is refused before; a link from a later node (a name used twice) is left out.
    links: links
      .map(({ from, to }) => ({ from: at[from]!, to: at[to]! }))
      .filter(({ from, to }) => from >= 0 && from < to),
    blocks,
  };
}
