// The drawing: open modules are frames around their contents, everything else is a box. Each level is laid out on its
// own, so that opening a module keeps the others as they are.
import { folded } from "./fold";
import { layLevel, type Box, type Level, type Point, type Size, type Sized } from "./level";
import { isGroup, type Entry, type Group, type Tree } from "./tree";

export const NODE_WIDTH = 172;
export const NODE_HEIGHT = 40;
export const HEADER = 26; // of a frame
const PADDING = 14;
const MARGIN = 6;
const PORT: Size = { width: 1, height: 1 };
const FAR = 40; // items
const MANY = 4;
const INNER_ASPECT = 1.5;
const TALLEST_MODULE = 480; // that is not folded

export interface Placed extends Box {
  group?: Group; // closed
  node: number; // -1: a group, or an input or output of the model
  label: string;
  first: number; // items
  last: number;
}
export interface Frame {
  group: Group;
  left: number;
  top: number;
  width: number;
  height: number;
  depth: number;
}
export interface Edge {
  links: number[]; // of the network
  points: Point[];
  arrow: boolean; // at its end: not at the port of a frame
  far: boolean; // drawn for the selected box only: a mask that every layer reads
}
export interface Drawing extends Size {
  boxes: Placed[];
  frames: Frame[];
  edges: Edge[];
}

interface Inside {
  level: Level;
  top: number; // of the level in its frame
  bottom: number; // of the frame in the level
  frame: Sized;
  children: Map<number, Inside>; // by place in `group.children`
}

const entryKey = (entry: Entry): string => (isGroup(entry) ? entry.key : `item ${entry}`);
const IN = "in";
const OUT = "out";

// The links of each open group between its children, and its two ports.
class Levels {
  readonly of = new Map<string, Map<string, { from: string; to: string; links: number[]; far: boolean }>>();
  constructor(
    private readonly tree: Tree,
    private readonly open: Set<string>,
  ) {
    const far = farLinks(tree);
    const chains = new Map<number, string[]>();
    const chain = (item: number): string[] => {
      let known = chains.get(item);
      if (!known) chains.set(item, (known = this.chainOf(item)));
      return known;
    };
    tree.network.links.forEach(({ from, to }, link) => {
      const [a, b] = [chain(from), chain(to)];
      let k = 0;
      while (k < a.length && k < b.length && a[k] === b[k]) k += 1;
      if (k === a.length || k === b.length) return; // within one box
      this.add(k === 0 ? "" : a[k - 1]!, a[k]!, b[k]!, link, far.has(link));
      for (let i = k + 1; i < a.length; i += 1) this.add(a[i - 1]!, a[i]!, OUT, link, far.has(link));
      for (let i = k + 1; i < b.length; i += 1) this.add(b[i - 1]!, IN, b[i]!, link, far.has(link));
    });
  }

  // The keys of the open groups around an item, and of the box that shows it.
  private chainOf(item: number): string[] {
    const keys: string[] = [];
    let group = this.tree.root;
    for (;;) {
      const child = group.children.find((entry) =>
        isGroup(entry) ? entry.first <= item && item <= entry.last : entry === item,
      )!;
      keys.push(entryKey(child));
      if (!isGroup(child) || !this.open.has(child.key)) return keys;
      group = child;
    }
  }

  private add(level: string, from: string, to: string, link: number, far: boolean): void {
    let links = this.of.get(level);
    if (!links) this.of.set(level, (links = new Map()));
    const key = `${from}\n${to}`;
    const one = links.get(key);
    if (one) {
      one.links.push(link);
      one.far &&= far;
    } else links.set(key, { from, to, links: [link], far });
  }
}

// Values with many distant consumers.
function farLinks(tree: Tree): Set<number> {
  const { links } = tree.network;
  const distant = new Map<number, number[]>();
  links.forEach(({ from, to }, i) => {
    if (to - from > FAR) distant.set(from, [...(distant.get(from) ?? []), i]);
  });
  return new Set([...distant.values()].filter((list) => list.length >= MANY).flat());
}

export function layoutOf(tree: Tree, open: Set<string>, aspect: number): Drawing {
  const levels = new Levels(tree, open);
  const cache = new Map<string, Level>();
  const drawing: Drawing = { width: 0, height: 0, boxes: [], frames: [], edges: [] };

  const lay = (group: Group): Inside => {
    const children = new Map<number, Inside>();
    const sizes: Sized[] = group.children.map((entry, i) => {
      if (!isGroup(entry) || !open.has(entry.key)) return { width: NODE_WIDTH, height: NODE_HEIGHT };
      const inside = lay(entry);
      children.set(i, inside);
      return inside.frame;
    });
    const links = linksOf(group);
    const near = links.filter((link) => !link.far).map(({ from, to }): [number, number] => [from, to]);
    const ports = group === tree.root ? [] : [PORT, PORT];
    const key = JSON.stringify([sizes, near]);
    let level = cache.get(key);
    if (!level) {
      const flat = layLevel([...sizes, ...ports], near);
      level = group === tree.root ? folded(flat, aspect, 0) : folded(flat, INNER_ASPECT, TALLEST_MODULE);
      cache.set(key, level);
    }
    return framed(level, group.children.length, children);
  };

  // Links between the places of boxes in the level; the ports come last. A port that nothing reaches is not tied.
  const linksOf = (group: Group) => {
    const places = new Map(group.children.map((entry, i) => [entryKey(entry), i]));
    places.set(IN, group.children.length);
    places.set(OUT, group.children.length + 1);
    return [...(levels.of.get(group.key)?.values() ?? [])].map((link) => ({
      ...link,
      from: places.get(link.from)!,
      to: places.get(link.to)!,
    }));
  };

  const put = (group: Group, inside: Inside, left: number, top: number, depth: number): void => {
    const { level } = inside;
    let route = 0;
    for (const { from, to, links, far } of linksOf(group)) {
      const points = far ? straight(level.boxes[from], level.boxes[to]) : [...level.routes[route++]!];
      // From and to the edges of the frame, which may be beyond the ports.
      if (from === group.children.length && points[0]) points.unshift([points[0][0], -inside.top]);
      const end = points[points.length - 1];
      if (to === group.children.length + 1 && end) points.push([end[0], inside.bottom]);
      const arrow = group === tree.root || to !== group.children.length + 1;
      drawing.edges.push({ links, far, arrow, points: points.map(([x, y]): Point => [x + left, y + top]) });
    }
    group.children.forEach((entry, i) => {
      const box = level.boxes[i]!;
      const at: Box = { ...box, x: box.x + left, y: box.y + top };
      const within = inside.children.get(i);
      if (!within || !isGroup(entry)) {
        drawing.boxes.push(placed(tree, entry, at));
        return;
      }
      const frame = { left: at.x - at.width / 2, top: at.y - at.height / 2, width: at.width, height: at.height };
      drawing.frames.push({ group: entry, ...frame, depth });
      put(entry, within, frame.left + PADDING, frame.top + within.top, depth + 1);
    });
  };
  const whole = lay(tree.root);
  drawing.width = whole.level.width;
  drawing.height = whole.level.height;
  put(tree.root, whole, 0, 0, 0);
  return drawing;
}

// The frame around a level: room for its header above the boxes, and a margin below.
function framed(level: Level, boxes: number, children: Map<number, Inside>): Inside {
  const tops = level.boxes.slice(0, boxes).map((box) => box.y - box.height / 2);
  const bottoms = level.boxes.slice(0, boxes).map((box) => box.y + box.height / 2);
  const top = Math.max(0, HEADER + MARGIN - Math.min(...tops));
  const below = Math.max(0, PADDING - (level.height - Math.max(...bottoms)));
  const width = level.width + 2 * PADDING;
  const port = (box: Box | undefined): number => (box ? box.x + PADDING - width / 2 : 0);
  const frame: Sized = {
    width,
    height: top + level.height + below,
    enter: port(level.boxes[boxes]),
    leave: port(level.boxes[boxes + 1]),
  };
  return { level, top, bottom: level.height + below, children, frame };
}

function straight(from: Box | undefined, to: Box | undefined): Point[] {
  if (!from || !to) return [];
  return [
    [from.x, from.y + from.height / 2],
    [to.x, to.y - to.height / 2],
  ];
}

function placed(tree: Tree, entry: Entry, at: Box): Placed {
  if (isGroup(entry))
    return { ...at, group: entry, node: -1, label: entry.label, first: entry.first, last: entry.last };
  const { node, label } = tree.network.items[entry]!;
  return { ...at, node, label, first: entry, last: entry };
}
