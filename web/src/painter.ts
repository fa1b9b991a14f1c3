// Draws the network on a canvas: only the visible part, with less detail when zoomed out, so that 5,000 nodes move
// smoothly.
import { cssColor, type Kind } from "./colors";
import { EXACT, type Report } from "./data";
import { decibels } from "./format";
import { NODE_HEIGHT, NODE_WIDTH, type Drawing, type Edge } from "./layout";

export interface View {
  x: number;
  y: number;
  k: number;
} // screen = drawing · k + (x, y)

export interface Highlight {
  selected: number; // a box; -1: none
  hover: number;
  faded: (box: number) => boolean;
}

const MOST_LETTERS = 60; // that fit in a node
const MAP_WIDTH = 26; // width of the overview at the right edge

export class Painter {
  private readonly byTop: number[]; // boxes sorted by top edge
  private readonly context: CanvasRenderingContext2D;
  private map: HTMLCanvasElement | undefined;
  private colors = new Map<string, string>();
  private texts = new Map<string, string>();
  private width = 0;
  private height = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly drawing: Drawing,
    private readonly report: Report,
    private readonly kinds: Kind[],
  ) {
    this.context = canvas.getContext("2d")!;
    this.byTop = drawing.boxes.map((_, i) => i).sort((a, b) => drawing.boxes[a]!.y - drawing.boxes[b]!.y);
  }

  resize(width: number, height: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.map = undefined;
  }

  private color(name: string): string {
    let color = this.colors.get(name);
    if (color === undefined) {
      color = cssColor(name);
      this.colors.set(name, color);
    }
    return color;
  }

  private kindColor(box: number): string {
    const node = this.drawing.boxes[box]!.node;
    return this.color(node < 0 ? "--panel" : (this.kinds[node]?.color ?? "--plain"));
  }

  // The first box, from the top, that is not above y.
  private firstBelow(y: number): number {
    let low = 0;
    let high = this.byTop.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.drawing.boxes[this.byTop[middle]!]!.y < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  boxAt(view: View, screenX: number, screenY: number): number {
    const x = (screenX - view.x) / view.k;
    const y = (screenY - view.y) / view.k;
    for (let i = this.firstBelow(y - NODE_HEIGHT / 2); i < this.byTop.length; i += 1) {
      const box = this.drawing.boxes[this.byTop[i]!]!;
      if (box.y - NODE_HEIGHT / 2 > y) break;
      if (Math.abs(box.x - x) <= NODE_WIDTH / 2) return this.byTop[i]!;
    }
    return -1;
  }

  hasMap(view: View): boolean {
    return this.drawing.height * view.k > 1.5 * this.height;
  }

  // The y coordinate of a position on the overview; undefined outside of it.
  mapAt(view: View, screenX: number, screenY: number): number | undefined {
    if (!this.hasMap(view) || screenX < this.width - MAP_WIDTH) return undefined;
    return (screenY / this.height) * this.drawing.height;
  }

  paint(view: View, highlight: Highlight): void {
    const { context } = this;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
    const top = -view.y / view.k;
    const bottom = (this.height - view.y) / view.k;
    this.paintEdges(top, bottom, view, highlight);
    for (let i = this.firstBelow(top - NODE_HEIGHT); i < this.byTop.length; i += 1) {
      const box = this.byTop[i]!;
      if (this.drawing.boxes[box]!.y - NODE_HEIGHT / 2 > bottom) break;
      this.paintBox(box, view, highlight);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.hasMap(view)) this.paintMap(view, highlight);
  }

  private paintEdges(top: number, bottom: number, view: View, highlight: Highlight): void {
    const { context } = this;
    const touched: Edge[] = [];
    context.lineWidth = Math.max(1.2, 0.8 / view.k);
    context.strokeStyle = this.color("--edge");
    context.beginPath();
    for (const edge of this.drawing.edges) {
      const last = edge.points[edge.points.length - 1]!;
      if (edge.points[0]![1] > bottom || last[1] < top) continue;
      if (edge.from === highlight.selected || edge.to === highlight.selected) touched.push(edge);
      else if (!edge.far) this.trace(edge, view);
    }
    context.stroke();
    context.lineWidth = Math.max(2.2, 1.5 / view.k);
    context.strokeStyle = this.color("--accent");
    context.beginPath();
    for (const edge of touched) this.trace(edge, view);
    context.stroke();
  }

  private trace(edge: Edge, view: View): void {
    const { context } = this;
    const points = edge.points;
    const [x, y] = points[0]!;
    context.moveTo(x, y);
    if (view.k < 0.12 || (points.length === 2 && points[1]![0] === x)) {
      for (const [px, py] of points) context.lineTo(px, py);
      return;
    }
    let [ax, ay] = [x, y];
    for (let i = 1; i < points.length; i += 1) {
      const [bx, by] = points[i]!;
      const middle = (ay + by) / 2;
      context.bezierCurveTo(ax, middle, bx, middle, bx, by);
      [ax, ay] = [bx, by];
    }
    if (view.k > 0.35) {
      context.moveTo(ax - 4, ay - 6);
      context.lineTo(ax, ay);
      context.lineTo(ax + 4, ay - 6);
    }
  }

  private paintBox(index: number, view: View, highlight: Highlight): void {
    const { context } = this;
    const box = this.drawing.boxes[index]!;
    const left = box.x - NODE_WIDTH / 2;
    const top = box.y - NODE_HEIGHT / 2;
    context.globalAlpha = highlight.faded(index) ? 0.25 : 1;
    context.fillStyle = this.kindColor(index);
    if (view.k < 0.25) {
      context.fillRect(left, top, NODE_WIDTH, NODE_HEIGHT);
    } else {
      context.beginPath();
      context.roundRect(left, top, NODE_WIDTH, NODE_HEIGHT, box.node < 0 ? NODE_HEIGHT / 2 : 6);
      context.fill();
      if (box.node < 0 || index === highlight.hover) {
        context.lineWidth = 1.2;
        context.strokeStyle = this.color(index === highlight.hover ? "--text" : "--edge");
        context.stroke();
      }
    }
    if (index === highlight.selected) {
      context.lineWidth = Math.max(3, 2 / view.k);
      context.strokeStyle = this.color("--accent");
      context.strokeRect(left - 3, top - 3, NODE_WIDTH + 6, NODE_HEIGHT + 6);
    }
    if (view.k >= 0.35) this.paintText(index, left, box.y);
    context.globalAlpha = 1;
  }

  private paintText(index: number, left: number, middle: number): void {
    const { context } = this;
    const box = this.drawing.boxes[index]!;
    const node = box.node >= 0 ? this.report.data.nodes[box.node]! : undefined;
    const plain = !node || ["--plain", "--tint"].includes(this.kinds[box.node]?.color ?? "--plain");
    context.textBaseline = "middle";
    context.fillStyle = this.color(plain ? "--text" : "--on-color");
    context.font = "600 12px system-ui, sans-serif";
    if (!node) {
      context.textAlign = "center";
      context.fillText(this.fitted(box.label, NODE_WIDTH - 24), box.x, middle);
      return;
    }
    context.textAlign = "left";
    const dB = this.report.sqnr(node);
    context.fillText(this.fitted(node.op, NODE_WIDTH - (dB === undefined ? 18 : 68)), left + 9, middle - 7);
    if (dB !== undefined && dB < EXACT) {
      context.textAlign = "right";
      context.font = "11px system-ui, sans-serif";
      context.fillText(decibels(dB), left + NODE_WIDTH - 9, middle - 7);
      context.textAlign = "left";
    }
    context.font = "10.5px system-ui, sans-serif";
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * 0.85;
    context.fillText(
      this.fitted(node.name || node.out[0] || "", NODE_WIDTH - 18, true),
      left + 9,
      middle + 8,
    );
    context.globalAlpha = alpha;
  }

  // Truncates a text to a width in the current font: keeps the start, or the end, which says more about a long path.
  private fitted(text: string, width: number, end = false): string {
    const key = `${width}${text}`;
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

  // The overview: the whole network in a narrow strip, with the visible part marked.
  private paintMap(view: View, highlight: Highlight): void {
    const { context, drawing } = this;
    const ratio = window.devicePixelRatio || 1;
    const scaleY = this.height / drawing.height;
    if (!this.map) {
      this.map = document.createElement("canvas");
      this.map.width = MAP_WIDTH * ratio;
      this.map.height = Math.round(this.height * ratio);
      const strip = this.map.getContext("2d")!;
      strip.scale(ratio, ratio);
      strip.fillStyle = this.color("--panel");
      strip.fillRect(0, 0, MAP_WIDTH, this.height);
      const scaleX = (MAP_WIDTH - 6) / Math.max(drawing.width, 3 * NODE_WIDTH);
      const middle = drawing.left + drawing.width / 2;
      drawing.boxes.forEach((box, i) => {
        strip.fillStyle = this.kindColor(i);
        const width = Math.max(3, NODE_WIDTH * scaleX);
        strip.fillRect(
          MAP_WIDTH / 2 + (box.x - middle) * scaleX - width / 2,
          (box.y - NODE_HEIGHT / 2) * scaleY,
          width,
          Math.max(1, NODE_HEIGHT * scaleY),
        );
      });
    }
    const left = this.width - MAP_WIDTH;
    context.drawImage(this.map, left, 0, MAP_WIDTH, this.height);
    context.strokeStyle = this.color("--accent");
    context.lineWidth = 1.5;
    const top = (-view.y / view.k) * scaleY;
    context.strokeRect(left + 1, top, MAP_WIDTH - 2, Math.max(6, (this.height / view.k) * scaleY));
    if (highlight.selected >= 0) {
      context.fillStyle = this.color("--accent");
      context.fillRect(left, drawing.boxes[highlight.selected]!.y * scaleY - 1.5, MAP_WIDTH, 3);
    }
  }
}
