// Draws the network on a canvas: only the visible part, with less detail when zoomed out, so that thousands of nodes move
// smoothly.
import { cssColor, type Kind } from "./colors";
import { EXACT, type Report } from "./data";
import { trace, visible } from "./edge_path";
import { decibels } from "./format";
import { HEADER, NODE_HEIGHT, NODE_WIDTH, type Drawing, type Edge, type Frame, type Placed } from "./layout";
import { shareOf, summaryOf, type GroupSummary } from "./group_summary";
import type { Tree } from "./tree";

export interface View {
  x: number;
  y: number;
  k: number;
} // screen = drawing · k + (x, y)

export interface Highlight {
  selected: number; // a box; -1: none
  hover: number;
  faded: (box: Placed) => boolean;
}

const MOST_LETTERS = 60; // that fit in a node
const FONT = "system-ui, sans-serif";

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private readonly colors = new Map<string, string>();
  private readonly texts = new Map<string, string>();
  private readonly summaries = new Map<string, GroupSummary>();
  private width = 0;
  private height = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly tree: Tree,
    private readonly drawing: Drawing,
    private readonly report: Report,
    private readonly kinds: Kind[],
  ) {
    this.context = canvas.getContext("2d")!;
  }

  resize(width: number, height: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  color(name: string): string {
    let color = this.colors.get(name);
    if (color === undefined) this.colors.set(name, (color = cssColor(name)));
    return color;
  }

  boxColor(box: Placed): string {
    if (box.group) return this.color(this.summary(box).color);
    return this.color(box.node < 0 ? "--panel" : (this.kinds[box.node]?.color ?? "--plain"));
  }

  private summary(box: Placed): GroupSummary {
    const { key } = box.group!;
    let summary = this.summaries.get(key);
    if (!summary) this.summaries.set(key, (summary = summaryOf(this.tree, box.group!, this.report, this.kinds)));
    return summary;
  }

  boxAt(view: View, screenX: number, screenY: number): number {
    const x = (screenX - view.x) / view.k;
    const y = (screenY - view.y) / view.k;
    return this.drawing.boxes.findIndex(
      (box) => Math.abs(box.x - x) <= box.width / 2 && Math.abs(box.y - y) <= box.height / 2,
    );
  }

  // The innermost frame whose header is there.
  headerAt(view: View, screenX: number, screenY: number): Frame | undefined {
    const x = (screenX - view.x) / view.k;
    const y = (screenY - view.y) / view.k;
    return this.drawing.frames
      .filter((one) => x >= one.left && x <= one.left + one.width && y >= one.top && y <= one.top + HEADER)
      .sort((a, b) => b.depth - a.depth)[0];
  }

  // Whether a closed group's button is there.
  onButton(view: View, box: Placed, screenX: number): boolean {
    return box.group !== undefined && (screenX - view.x) / view.k > box.x + box.width / 2 - 30;
  }

  paint(view: View, highlight: Highlight): void {
    const { context } = this;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
    const left = -view.x / view.k;
    const top = -view.y / view.k;
    const right = left + this.width / view.k;
    const bottom = top + this.height / view.k;
    for (const frame of this.drawing.frames) {
      if (frame.left > right || frame.top > bottom) continue;
      if (frame.left + frame.width >= left && frame.top + frame.height >= top) this.paintFrame(frame, view);
    }
    this.paintEdges([left, top, right, bottom], view, highlight);
    if (view.k >= 0.3) for (const frame of this.drawing.frames) this.paintTitle(frame);
    this.drawing.boxes.forEach((box, i) => {
      if (box.x + box.width / 2 < left || box.x - box.width / 2 > right) return;
      if (box.y + box.height / 2 < top || box.y - box.height / 2 > bottom) return;
      this.paintBox(box, i, view, highlight);
    });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  private paintFrame(frame: Frame, view: View): void {
    const { context } = this;
    context.fillStyle = this.color(frame.depth % 2 === 0 ? "--frame" : "--panel");
    context.strokeStyle = this.color("--edge");
    context.lineWidth = Math.max(1, 0.7 / view.k);
    context.beginPath();
    context.roundRect(frame.left, frame.top, frame.width, frame.height, 10);
    context.fill();
    context.stroke();
  }

  // Above the edges that enter the frame.
  private paintTitle(frame: Frame): void {
    const { context } = this;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = this.color("--text");
    context.font = `600 12px ${FONT}`;
    context.strokeStyle = this.color(frame.depth % 2 === 0 ? "--frame" : "--panel");
    context.lineWidth = 4;
    const title = `− ${this.fitted(frame.group.label, frame.width - 30)}`;
    context.strokeText(title, frame.left + 10, frame.top + HEADER / 2 + 1);
    context.fillText(title, frame.left + 10, frame.top + HEADER / 2 + 1);
  }

  private paintEdges(area: [number, number, number, number], view: View, highlight: Highlight): void {
    const { context } = this;
    const box = this.drawing.boxes[highlight.selected];
    const touched: Edge[] = [];
    context.lineJoin = "round";
    context.lineWidth = Math.max(1.3, 0.8 / view.k);
    context.strokeStyle = this.color("--edge");
    context.beginPath();
    for (const edge of this.drawing.edges) {
      if (box && this.touches(edge, box)) touched.push(edge);
      else if (!edge.far && visible(edge, area)) trace(context, edge, view.k);
    }
    context.stroke();
    context.lineWidth = Math.max(2.4, 1.6 / view.k);
    context.strokeStyle = this.color("--accent");
    context.beginPath();
    for (const edge of touched) trace(context, edge, view.k);
    context.stroke();
  }

  private touches(edge: Edge, box: Placed): boolean {
    const inside = (item: number): boolean => item >= box.first && item <= box.last;
    const { links } = this.tree.network;
    return edge.links.some((one) => inside(links[one]!.from) !== inside(links[one]!.to));
  }

  private paintBox(box: Placed, index: number, view: View, highlight: Highlight): void {
    const { context } = this;
    const left = box.x - NODE_WIDTH / 2;
    const top = box.y - NODE_HEIGHT / 2;
    context.globalAlpha = highlight.faded(box) ? 0.22 : 1;
    context.lineWidth = 1.2;
    if (box.group && view.k >= 0.2) this.paintStack(left, top);
    context.fillStyle = this.boxColor(box);
    if (view.k < 0.25) {
      context.fillRect(left, top, NODE_WIDTH, NODE_HEIGHT);
    } else {
      context.beginPath();
      context.roundRect(left, top, NODE_WIDTH, NODE_HEIGHT, box.node < 0 && !box.group ? NODE_HEIGHT / 2 : 7);
      context.fill();
      if (box.node < 0 || index === highlight.hover) {
        context.strokeStyle = this.color(index === highlight.hover ? "--text" : "--edge");
        context.stroke();
      }
    }
    if (box.group && view.k >= 0.2) this.paintShares(box, left, top);
    if (index === highlight.selected) {
      context.lineWidth = Math.max(3, 2 / view.k);
      context.strokeStyle = this.color("--accent");
      context.strokeRect(left - 3, top - 3, NODE_WIDTH + 6, NODE_HEIGHT + 6);
    }
    if (view.k >= 0.35) this.paintText(box, left);
    context.globalAlpha = 1;
  }

  // The sheets below a closed group.
  private paintStack(left: number, top: number): void {
    const { context } = this;
    context.fillStyle = this.color("--panel");
    context.strokeStyle = this.color("--edge");
    for (const by of [6, 3]) {
      context.beginPath();
      context.roundRect(left + by, top + by, NODE_WIDTH, NODE_HEIGHT, 7);
      context.fill();
      context.stroke();
    }
  }

  // The kinds of the nodes in a closed group, as a strip along its foot.
  private paintShares(box: Placed, left: number, top: number): void {
    const { shares } = this.summary(box);
    if (shares.length < 2) return;
    const whole = shares.reduce((sum, one) => sum + one.count, 0);
    let x = left + 7;
    for (const one of shares) {
      const width = ((NODE_WIDTH - 14) * one.count) / whole;
      this.context.fillStyle = this.color("--panel");
      this.context.fillRect(x, top + NODE_HEIGHT - 5, width, 5);
      this.context.fillStyle = this.color(one.color);
      this.context.fillRect(x, top + NODE_HEIGHT - 4, width, 4);
      x += width;
    }
  }

  private paintText(box: Placed, left: number): void {
    const { context } = this;
    context.textBaseline = "middle";
    const dark = ["--plain", "--tint", "--panel"];
    if (box.node < 0 && !box.group) {
      context.fillStyle = this.color("--text");
      context.font = `600 12px ${FONT}`;
      context.textAlign = "center";
      context.fillText(this.fitted(box.label, NODE_WIDTH - 24), box.x, box.y);
      return;
    }
    const node = this.report.data.nodes[box.node];
    const summary = box.group ? this.summary(box) : undefined;
    const color = summary?.color ?? this.kinds[box.node]?.color ?? "--plain";
    context.fillStyle = this.color(dark.includes(color) ? "--text" : "--on-color");
    const dB = summary ? summary.lowest : this.report.sqnr(node!);
    const shown = dB !== undefined && dB < EXACT;
    const room = NODE_WIDTH - (shown ? 74 : 22) - (summary ? 14 : 0);
    context.textAlign = "left";
    context.font = `600 12.5px ${FONT}`;
    context.fillText(this.fitted(box.label, room, box.group?.kind === "module"), left + 10, box.y - 8);
    if (shown) {
      context.textAlign = "right";
      context.font = `11px ${FONT}`;
      context.fillText(decibels(dB), left + NODE_WIDTH - (summary ? 26 : 10), box.y - 8);
      context.textAlign = "left";
    }
    context.font = `11px ${FONT}`;
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * 0.88;
    const about = summary ? shareOf(summary) : node!.name || node!.out[0] || "";
    context.fillText(this.fitted(about, NODE_WIDTH - 22 - (summary ? 12 : 0), !summary), left + 10, box.y + 7);
    context.globalAlpha = alpha;
    if (!summary) return;
    context.font = `600 15px ${FONT}`;
    context.textAlign = "center";
    context.fillText("+", left + NODE_WIDTH - 14, box.y - 7);
  }

  // Truncates a text to a width in the current font: keeps the start, or the end, which says more about a long path.
  private fitted(text: string, width: number, end = false): string {
    const key = `${width} ${this.context.font} ${text}`;
    let short = this.texts.get(key);
    if (short === undefined) {
      short = text;
      for (
        let length = Math.min(text.length - 1, MOST_LETTERS);
        length > 0 && this.context.measureText(short).width > width;
        length -= 1
      )
        short = end ? `…${text.slice(text.length - length)}` : `${text.slice(0, length)}…`;
      this.texts.set(key, short);
    }
    return short;
  }
}
