// What the plots have in common, by uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { cssColor } from "./colors";

export function usePlot(make: (width: number) => uPlot | undefined, inputs: unknown[]) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const plot = make(element.clientWidth);
    if (!plot) return undefined;
    element.appendChild(plot.root);
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: plot.height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
      plot.root.remove();
    };
  }, inputs);
  return place;
}

export const FONT = "11px system-ui, sans-serif";
export const axis = (): Partial<uPlot.Axis> => ({
  stroke: cssColor("--dim"),
  grid: { stroke: cssColor("--line"), width: 1 },
  ticks: { show: false },
  font: FONT,
  labelFont: FONT,
});

export function tell(plot: uPlot, text: (index: number) => string): void {
  const index = plot.cursor.idx;
  let note = plot.root.querySelector<HTMLElement>(".note");
  if (!note) {
    note = document.createElement("div");
    note.className = "note";
    plot.root.appendChild(note);
  }
  note.textContent = index === null || index === undefined ? "" : text(index);
}
