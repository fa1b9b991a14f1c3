// The graph view: zoom by wheel or pinch, drag, click; keyboard: arrows, +, -, 0.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { kindsOf, type ColorMode } from "./colors";
import type { Report } from "./data";
import { decibels } from "./format";
import { layoutOf, type Drawing } from "./layout";
import { Painter, type Highlight, type View } from "./painter";

interface Props {
  report: Report;
  selected: number | undefined;
  matches: Set<number> | undefined; // nodes that match the search
  theme: string;
  onSelect: (node: number | undefined) => void;
}

function startView(drawing: Drawing, width: number, height: number): View {
  const whole = Math.min((height - 40) / drawing.height, (width - 60) / drawing.width);
  const k = Math.min(1.1, Math.max(whole, Math.min(0.75, (width - 60) / drawing.width)));
  const first = drawing.boxes[0];
  const middle = drawing.width * k <= width || !first ? drawing.left + drawing.width / 2 : first.x;
  return {
    x: width / 2 - middle * k,
    y: Math.max(20, ((height - drawing.height * k) / 2) * Number(whole >= k)),
    k,
  };
}

export function GraphView({ report, selected, matches, theme, onSelect }: Props) {
  const [mode, setMode] = useState<ColorMode>(
    report.data.command === "compare" && report.layers.length > 0 ? "error" : "format",
  );
  const [only, setOnly] = useState<string>();
  const [tip, setTip] = useState<{ x: number; y: number; node: number }>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const behavior = useRef<ZoomBehavior<HTMLCanvasElement, unknown>>(undefined);
  const view = useRef<View>({ x: 0, y: 0, k: 1 });
  const hover = useRef(-1);
  const drawing = useMemo(() => layoutOf(report), [report]);
  const boxOf = useMemo(() => new Map(drawing.boxes.map((box, i) => [box.node, i])), [drawing]);
  const { nodes: kinds, legend } = useMemo(() => kindsOf(report, mode), [report, mode]);
  const painter = useRef<Painter>(undefined);
  const repaint = useRef<() => void>(() => {});
  const selectedBox = selected === undefined ? -1 : (boxOf.get(selected) ?? -1);

  const highlight = (): Highlight => ({
    selected: selectedBox,
    hover: hover.current,
    faded: (box) => {
      const node = drawing.boxes[box]!.node;
      if (node < 0) return only !== undefined || matches !== undefined;
      return (
        (only !== undefined && kinds[node]?.key !== only) || (matches !== undefined && !matches.has(node))
      );
    },
  });

  const moveTo = (next: View): void => {
    const target = select(canvas.current!);
    behavior.current!.transform(target, zoomIdentity.translate(next.x, next.y).scale(next.k));
  };
  const size = (): [number, number] => [canvas.current!.clientWidth, canvas.current!.clientHeight];
  const fit = (): void => {
    const [width, height] = size();
    const k = Math.min(1.1, (height - 24) / drawing.height, (width - 60) / drawing.width);
    moveTo({
      x: width / 2 - (drawing.left + drawing.width / 2) * k,
      y: (height - drawing.height * k) / 2,
      k,
    });
  };
  const center = (box: number, keepIfSeen: boolean): void => {
    const [width, height] = size();
    const { x, y } = drawing.boxes[box]!;
    const now = view.current;
    const [sx, sy] = [x * now.k + now.x, y * now.k + now.y];
    const seen = sx > 60 && sx < width - 60 && sy > 30 && sy < height - 30 && now.k > 0.35;
    if (keepIfSeen && seen) return;
    const k = Math.max(now.k, 0.8);
    moveTo({ x: width / 2 - x * k, y: height / 2 - y * k, k });
  };

  // The painter depends on the drawing and the colours.
  useEffect(() => {
    const element = canvas.current!;
    painter.current = new Painter(element, drawing, report, kinds);
    painter.current.resize(element.clientWidth, element.clientHeight);
    repaint.current();
  }, [drawing, kinds, report, theme]);

  // Installs zooming once per drawing.
  useEffect(() => {
    const element = canvas.current!;
    let frame = 0;
    const later = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        repaint.current();
      });
    };
    behavior.current = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.01, 4])
      .filter(
        (event: MouseEvent) =>
          painter.current!.mapAt(view.current, event.offsetX, event.offsetY) === undefined &&
          (!event.ctrlKey || event.type === "wheel") &&
          !event.button,
      )
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        view.current = event.transform;
        later();
      });
    select(element).call(behavior.current).on("dblclick.zoom", null);
    let width = element.clientWidth;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth === 0) return; // the element is being removed
      if (element.clientWidth !== width)
        // keeps the centre in place
        moveTo({ ...view.current, x: view.current.x + (element.clientWidth - width) / 2 });
      width = element.clientWidth;
      painter.current!.resize(element.clientWidth, element.clientHeight);
      repaint.current();
    });
    watch.observe(element);
    moveTo(startView(drawing, element.clientWidth, element.clientHeight));
    repaint.current();
    performance.mark("anybit-drawn");
    return () => {
      watch.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [drawing]);

  repaint.current = () => painter.current?.paint(view.current, highlight());
  useEffect(() => {
    repaint.current();
  }, [selected, matches, only, mode, theme]);
  useEffect(() => {
    if (selectedBox >= 0) center(selectedBox, true);
  }, [selectedBox]);

  const point = (event: MouseEvent): void => {
    const map = painter.current!.mapAt(view.current, event.offsetX, event.offsetY);
    if (map !== undefined) {
      if (event.buttons === 1) {
        const [, height] = size();
        moveTo({ ...view.current, y: height / 2 - map * view.current.k });
      }
      return;
    }
    const box = painter.current!.boxAt(view.current, event.offsetX, event.offsetY);
    const node = box >= 0 ? drawing.boxes[box]!.node : -1;
    if (box !== hover.current) {
      hover.current = box;
      repaint.current();
    }
    setTip(node >= 0 ? { x: event.offsetX, y: event.offsetY, node } : undefined);
  };
  const click = (event: MouseEvent): void => {
    if (painter.current!.mapAt(view.current, event.offsetX, event.offsetY) !== undefined) return point(event);
    const box = painter.current!.boxAt(view.current, event.offsetX, event.offsetY);
    onSelect(box >= 0 && drawing.boxes[box]!.node >= 0 ? drawing.boxes[box]!.node : undefined);
  };
  const key = (event: KeyboardEvent): void => {
    const nodes = report.data.nodes;
    const scale = (by: number): void => behavior.current!.scaleBy(select(canvas.current!), by);
    const step: Record<string, () => void> = {
      "+": () => scale(1.4),
      "=": () => scale(1.4),
      "-": () => scale(1 / 1.4),
      "0": fit,
      ArrowDown: () => onSelect(nextNode(report, selected, 1)),
      ArrowUp: () => onSelect(nextNode(report, selected, -1)),
      ArrowRight: () => onSelect(Math.min(nodes.length - 1, (selected ?? -1) + 1)),
      ArrowLeft: () => onSelect(Math.max(0, (selected ?? 1) - 1)),
      Escape: () => onSelect(undefined),
    };
    const action = step[event.key];
    if (!action || nodes.length === 0) return;
    event.preventDefault();
    action();
  };

  const tipNode = tip && report.data.nodes[tip.node];
  return (
    <div class="graph">
      <div class="toolbar">
        <div class="choices" role="group" aria-label="Colour by">
          {(["format", "error", "outcome"] as const).map((one) => (
            <button
              key={one}
              aria-pressed={mode === one}
              disabled={one === "error" && report.layers.length === 0}
              title={
                one === "error" && report.layers.length === 0 ? "Needs data to compare both models on" : ""
              }
              onClick={() => {
                setMode(one);
                setOnly(undefined);
              }}
            >
              {one === "format" ? "Format" : one === "error" ? "Error" : "Outcome"}
            </button>
          ))}
        </div>
        <div class="choices" role="group" aria-label="Zoom">
          <button
            title="Zoom in (+)"
            aria-label="Zoom in"
            onClick={() => behavior.current!.scaleBy(select(canvas.current!), 1.4)}
          >
            +
          </button>
          <button
            title="Zoom out (-)"
            aria-label="Zoom out"
            onClick={() => behavior.current!.scaleBy(select(canvas.current!), 1 / 1.4)}
          >
            −
          </button>
          <button title="The whole network (0)" onClick={fit}>
            Fit
          </button>
        </div>
        <ul class="legend" aria-label="Legend">
          {legend.map((kind) => (
            <li key={kind.key}>
              <button
                aria-pressed={only === kind.key}
                title={`Show only: ${kind.label}`}
                onClick={() => setOnly(only === kind.key ? undefined : kind.key)}
              >
                <i style={{ background: `var(${kind.color})` }} />
                {kind.label} <b>{kind.count.toLocaleString("en")}</b>
              </button>
            </li>
          ))}
        </ul>
      </div>
      <div class="canvas">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          onPointerMove={point}
          onPointerDown={point}
          onClick={click}
          onPointerLeave={() => setTip(undefined)}
          onKeyDown={key}
          aria-label={`The network: ${report.data.nodes.length} nodes. Arrows go from node to node, plus and minus zoom.`}
        />
        {tip && tipNode && (
          <div
            class="tip"
            style={{
              left: `${Math.min(tip.x + 14, (canvas.current?.clientWidth ?? 600) - 260)}px`,
              top: `${tip.y + 14}px`,
            }}
          >
            <b>{tipNode.op}</b> {tipNode.name}
            <div>{tipNode.to ?? tipNode.outcome ?? ""}</div>
            {report.sqnr(tipNode) !== undefined && <div>{decibels(report.sqnr(tipNode))}</div>}
            {tipNode.reason && <div class="dim">{tipNode.reason}</div>}
          </div>
        )}
        {drawing.boxes.length === 0 && (
          <p class="empty">{`No network to draw: ${report.data.before ? "the model has no nodes" : "the report has ranges only, without a model"}.`}</p>
        )}
      </div>
    </div>
  );
}

// A consumer or producer of the node.
function nextNode(report: Report, from: number | undefined, step: 1 | -1): number {
  if (from === undefined) return 0;
  const node = report.data.nodes[from]!;
  const next =
    step > 0
      ? node.out.flatMap((value) => report.users.get(value) ?? [])
      : node.in.map((value) => report.maker.get(value)).filter((x) => x !== undefined);
  return next[0] ?? from;
}
