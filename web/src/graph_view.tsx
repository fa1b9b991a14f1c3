// The network: zoom by wheel or pinch, drag, click; keyboard: arrows, Enter, +, -, 0.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { kindsOf, type ColorMode } from "./colors";
import type { Report } from "./data";
import { GraphContents } from "./graph_contents";
import { GraphToolbar } from "./graph_toolbar";
import { layoutOf, type Placed } from "./layout";
import { Painter, type Highlight } from "./painter";
import { MiniMap } from "./minimap";
import type { Selection } from "./selection";
import { firstView, fittingAtFirst } from "./first_view";
import { groupsAround, nodesIn, type Group, type Tree } from "./tree";
import { GraphTip } from "./graph_tip";
import { useZoom } from "./zoom";

interface Props {
  report: Report;
  tree: Tree;
  selected: Selection | undefined;
  matches: Set<number> | undefined; // nodes that match the search
  leading: Set<number> | undefined; // nodes that lead to the chosen output
  open: Set<string> | undefined; // groups; undefined before the first drawing
  theme: string;
  onSelect: (selection: Selection | undefined) => void;
  onOpen: (open: Set<string>) => void;
}


export function GraphView({ report, tree, selected, matches, leading, open, theme, onSelect, onOpen: setOpen }: Props) {
  const [mode, setMode] = useState<ColorMode>(report.layers.length > 0 ? "error" : "format");
  const [only, setOnly] = useState<string>();
  const [tip, setTip] = useState<{ x: number; y: number; box: Placed }>();
  const [aspect, setAspect] = useState(1.6);
  const canvas = useRef<HTMLCanvasElement>(null);
  const hover = useRef(-1);
  const anchor = useRef<{ key: string; x: number; y: number }>(undefined); // what stays in place when a group opens
  const drawing = useMemo(() => layoutOf(tree, open ?? new Set(), aspect), [tree, open, aspect]);
  const { nodes: kinds, legend } = useMemo(() => kindsOf(report, mode), [report, mode]);
  const painter = useRef<Painter>(undefined);
  const map = useRef<MiniMap>(undefined);
  const repaint = useRef<() => void>(() => {});
  const zoom = useZoom(canvas, repaint, (view, x, y) => map.current?.at(view, x, y) !== undefined);

  const boxOf = (one: Selection | undefined): number => {
    if (!one) return -1;
    if (one.group !== undefined) return drawing.boxes.findIndex((box) => box.group?.key === one.group);
    const item = tree.itemOf.get(one.node!);
    return drawing.boxes.findIndex((box) => item !== undefined && box.first <= item && item <= box.last);
  };
  const selectedBox = useMemo(() => boxOf(selected), [drawing, selected]);

  // Which boxes are drawn faintly: none of their nodes is wanted.
  const faded = useMemo(() => {
    if (only === undefined && !matches && !leading) return () => false;
    const wanted = (node: number): boolean =>
      (only === undefined || kinds[node]?.key === only) && (!matches || matches.has(node)) && (!leading || leading.has(node));
    const known = new Map<string, boolean>();
    return (box: Placed): boolean => {
      if (!box.group) return box.node >= 0 ? !wanted(box.node) : only !== undefined || matches !== undefined;
      const { key } = box.group;
      if (!known.has(key)) known.set(key, !nodesIn(tree, box.group).some(wanted));
      return known.get(key)!;
    };
  }, [tree, kinds, only, matches, leading]);

  const size = (): [number, number] => [canvas.current!.clientWidth, canvas.current!.clientHeight];
  repaint.current = () => {
    const highlight: Highlight = { selected: selectedBox, hover: hover.current, faded };
    painter.current?.paint(zoom.view(), highlight);
    Object.assign(canvas.current!.dataset, { x: zoom.view().x, y: zoom.view().y, zoom: zoom.view().k });
    map.current?.paint(canvas.current!.getContext("2d")!, zoom.view());
  };

  const toggle = (group: Group): void => {
    const next = new Set(open);
    const box = drawing.boxes.find((one) => one.group?.key === group.key);
    const frame = drawing.frames.find((one) => one.group.key === group.key);
    if (box) anchor.current = { key: group.key, x: box.x - box.width / 2, y: box.y - box.height / 2 };
    else if (frame) anchor.current = { key: group.key, x: frame.left, y: frame.top };
    if (next.has(group.key)) {
      for (const one of [group, ...inner(group)]) next.delete(one.key);
    } else next.add(group.key);
    setOpen(next);
  };

  // Opens what fits on the screen, once its size is known.
  useEffect(() => {
    const [width, height] = size();
    if (width === 0) return;
    const shape = Math.max(0.5, Math.min(3.5, width / height));
    setAspect(shape);
    if (!open) setOpen(fittingAtFirst(tree, shape, width, height));
  }, [tree]);

  useEffect(() => {
    if (!open) return;
    const element = canvas.current!;
    painter.current = new Painter(element, tree, drawing, report, kinds);
    painter.current.resize(...size());
    map.current = new MiniMap(drawing, painter.current, size);
    repaint.current();
  }, [drawing, kinds, report, theme]);

  const placed = useRef(false);
  useEffect(() => {
    if (!open) return;
    const kept = anchor.current;
    anchor.current = undefined;
    if (!placed.current) {
      zoom.moveTo(firstView(drawing, ...size()));
      placed.current = true;
      performance.mark("anybit-drawn");
    } else if (kept) {
      const box = drawing.boxes.find((one) => one.group?.key === kept.key);
      const frame = drawing.frames.find((one) => one.group.key === kept.key);
      const [x, y] = box ? [box.x - box.width / 2, box.y - box.height / 2] : frame ? [frame.left, frame.top] : [kept.x, kept.y];
      const now = zoom.view();
      zoom.moveTo({ ...now, x: now.x + (kept.x - x) * now.k, y: now.y + (kept.y - y) * now.k });
    }
  }, [drawing]);

  useEffect(() => {
    const element = canvas.current!;
    let width = element.clientWidth;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth === 0) return; // the element is being removed
      const now = zoom.view();
      if (element.clientWidth !== width) zoom.moveTo({ ...now, x: now.x + (element.clientWidth - width) / 2 });
      width = element.clientWidth;
      painter.current?.resize(...size());
      if (painter.current) map.current = new MiniMap(drawing, painter.current, size);
      repaint.current();
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [drawing]);

  useEffect(() => repaint.current(), [selectedBox, faded, theme]);

  // A selected node is opened to, and moved into view.
  useEffect(() => {
    if (!selected || !open) return;
    const target = selected.group === undefined ? tree.itemOf.get(selected.node!) : tree.groups.get(selected.group)?.first;
    if (target === undefined) return;
    const around = groupsAround(tree, target).filter((group) => group.key !== selected.group);
    const stop = around.findIndex((group) => group.kind === "block");
    const needed = (stop >= 0 && selected.quiet ? around.slice(0, stop) : around).map((group) => group.key);
    if (selected.group === undefined && needed.some((key) => !open.has(key))) setOpen(new Set([...open, ...needed]));
  }, [selected, open === undefined]);
  useEffect(() => {
    const box = drawing.boxes[selectedBox];
    if (box) zoom.show(box, size());
  }, [selectedBox, drawing]);

  const point = (event: PointerEvent | MouseEvent): void => {
    const at = map.current?.at(zoom.view(), event.offsetX, event.offsetY);
    if (at) {
      if (event.buttons === 1) zoom.center(at, size());
      return;
    }
    const index = painter.current?.boxAt(zoom.view(), event.offsetX, event.offsetY) ?? -1;
    if (index !== hover.current) {
      hover.current = index;
      repaint.current();
    }
    const box = drawing.boxes[index];
    const told = box && (box.group || box.node >= 0) && !(event instanceof PointerEvent && event.pointerType === "touch");
    setTip(told ? { x: event.offsetX, y: event.offsetY, box } : undefined);
  };
  const click = (event: MouseEvent): void => {
    const view = zoom.view();
    if (map.current?.at(view, event.offsetX, event.offsetY)) return;
    const box = drawing.boxes[painter.current!.boxAt(view, event.offsetX, event.offsetY)];
    if (!box) {
      const frame = painter.current!.headerAt(view, event.offsetX, event.offsetY);
      if (frame) toggle(frame.group);
      else onSelect(undefined);
    } else if (!box.group) onSelect(box.node < 0 ? undefined : { node: box.node });
    else if (painter.current!.onButton(view, box, event.offsetX)) toggle(box.group);
    else onSelect({ group: box.group.key });
  };
  const double = (event: MouseEvent): void => {
    const box = drawing.boxes[painter.current!.boxAt(zoom.view(), event.offsetX, event.offsetY)];
    if (box?.group && !painter.current!.onButton(zoom.view(), box, event.offsetX)) toggle(box.group);
  };

  const neighbour = (step: 1 | -1): void => {
    const box = drawing.boxes[selectedBox];
    if (!box) return onSelect(report.data.nodes.length > 0 ? { node: 0 } : undefined);
    const inside = (item: number): boolean => item >= box.first && item <= box.last;
    const link = tree.network.links.find(({ from, to }) =>
      step > 0 ? inside(from) && !inside(to) && tree.network.items[to]!.node >= 0 : inside(to) && !inside(from) && tree.network.items[from]!.node >= 0,
    );
    if (link) onSelect({ node: tree.network.items[step > 0 ? link.to : link.from]!.node });
  };
  const beside = (step: 1 | -1): void => {
    const now = selected?.node ?? (step > 0 ? -1 : 1);
    onSelect({ node: Math.max(0, Math.min(report.data.nodes.length - 1, now + step)) });
  };
  const key = (event: KeyboardEvent): void => {
    const group = drawing.boxes[selectedBox]?.group ?? (selected?.node === undefined ? undefined : groupsAround(tree, tree.itemOf.get(selected.node)!).pop());
    const step: Record<string, () => void> = {
      "+": () => zoom.by(1.4),
      "=": () => zoom.by(1.4),
      "-": () => zoom.by(1 / 1.4),
      "0": () => zoom.fit(drawing, size()),
      ArrowDown: () => neighbour(1),
      ArrowUp: () => neighbour(-1),
      ArrowRight: () => beside(1),
      ArrowLeft: () => beside(-1),
      Enter: () => {
        if (group) toggle(group);
      },
      Escape: () => onSelect(undefined),
    };
    const action = step[event.key];
    if (!action || report.data.nodes.length === 0) return;
    event.preventDefault();
    action();
  };

  return (
    <div class="graph">
      <GraphToolbar
        report={report}
        mode={mode}
        legend={legend}
        only={only}
        groups={tree.groups.size > 1}
        onMode={(next) => {
          setMode(next);
          setOnly(undefined);
        }}
        onOnly={setOnly}
        onZoom={zoom.by}
        onFit={() => zoom.fit(drawing, size())}
        onOpenAll={() => setOpen(new Set([...tree.groups.keys()]))}
        onCloseAll={() => setOpen(new Set())}
      />
      <div class="canvas">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          data-boxes={drawing.boxes.length}
          data-frames={drawing.frames.length}
          data-width={drawing.width}
          data-height={drawing.height}
          onPointerMove={point}
          onPointerDown={point}
          onClick={click}
          onDblClick={double}
          onPointerLeave={() => setTip(undefined)}
          onKeyDown={key}
          aria-label={`The network: ${report.data.nodes.length} nodes. Arrows go from node to node, Enter opens and closes a module, plus and minus zoom.`}
        >
          <GraphContents drawing={drawing} onSelect={onSelect} onToggle={toggle} />
        </canvas>
        {tip && <GraphTip report={report} tree={tree} kinds={kinds} {...tip} width={canvas.current?.clientWidth ?? 600} />}
        {report.data.nodes.length === 0 && (
          <p class="empty">{`No network to draw: ${report.data.before ? "the model has no nodes" : "the report has ranges only, without a model"}.`}</p>
        )}
      </div>
    </div>
  );
}

function inner(group: Group): Group[] {
  return group.children.flatMap((child) => (typeof child === "number" ? [] : [child, ...inner(child)]));
}
