// The overview in the corner: the whole network, with the visible part marked.
import type { Drawing } from "./layout";
import type { Painter, View } from "./painter";

const WIDEST = 160;
const TALLEST = 110;
const MARGIN = 10;

export class MiniMap {
  private image: HTMLCanvasElement | undefined;
  private readonly scale: number;
  private readonly width: number;
  private readonly height: number;

  constructor(
    private readonly drawing: Drawing,
    private readonly painter: Painter,
    private readonly screen: () => [number, number],
  ) {
    const [width, height] = screen();
    const most = [Math.min(WIDEST, width * 0.3), Math.min(TALLEST, height * 0.3)] as const;
    this.scale = Math.min(most[0] / Math.max(1, drawing.width), most[1] / Math.max(1, drawing.height));
    this.width = drawing.width * this.scale;
    this.height = drawing.height * this.scale;
  }

  // It is shown if a part of the network is not.
  shown(view: View): boolean {
    const [width, height] = this.screen();
    return this.drawing.width * view.k > width * 1.02 || this.drawing.height * view.k > height * 1.02;
  }

  private corner(): [number, number] {
    const [width, height] = this.screen();
    return [width - this.width - MARGIN, height - this.height - MARGIN];
  }

  // The place in the drawing of a point on the screen; undefined outside of the overview.
  at(view: View, screenX: number, screenY: number): [number, number] | undefined {
    if (!this.shown(view)) return undefined;
    const [left, top] = this.corner();
    const [x, y] = [screenX - left, screenY - top];
    if (x < -4 || y < -4 || x > this.width + 4 || y > this.height + 4) return undefined;
    return [x / this.scale, y / this.scale];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    if (!this.shown(view)) return;
    const [width, height] = this.screen();
    const [left, top] = this.corner();
    const image = (this.image ??= this.drawn());
    context.drawImage(image, left - 4, top - 4, this.width + 8, this.height + 8);
    context.strokeStyle = this.painter.color("--accent");
    context.lineWidth = 1.5;
    const x = Math.max(0, (-view.x / view.k) * this.scale);
    const y = Math.max(0, (-view.y / view.k) * this.scale);
    const right = Math.min(this.width, ((width - view.x) / view.k) * this.scale);
    const bottom = Math.min(this.height, ((height - view.y) / view.k) * this.scale);
    context.strokeRect(left + x, top + y, Math.max(4, right - x), Math.max(4, bottom - y));
  }

  private drawn(): HTMLCanvasElement {
    const ratio = window.devicePixelRatio || 1;
    const image = document.createElement("canvas");
    image.width = Math.ceil((this.width + 8) * ratio);
    image.height = Math.ceil((this.height + 8) * ratio);
    const context = image.getContext("2d")!;
    context.scale(ratio, ratio);
    context.fillStyle = this.painter.color("--ground");
    context.strokeStyle = this.painter.color("--edge");
    context.globalAlpha = 0.92;
    context.fillRect(0, 0, this.width + 8, this.height + 8);
    context.globalAlpha = 1;
    context.strokeRect(0.5, 0.5, this.width + 7, this.height + 7);
    for (const box of this.drawing.boxes) {
      context.fillStyle = box.node < 0 && !box.group ? this.painter.color("--edge") : this.painter.boxColor(box);
      context.fillRect(
        4 + (box.x - box.width / 2) * this.scale,
        4 + (box.y - box.height / 2) * this.scale,
        Math.max(2, box.width * this.scale),
        Math.max(1.5, box.height * this.scale),
      );
    }
    return image;
  }
}
