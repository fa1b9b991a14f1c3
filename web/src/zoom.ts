// Zooming and panning of the canvas, by d3.
import { select } from "d3-selection";
import { zoom as makeZoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LARGEST_AT_FIRST, READABLE } from "./first_view";
import type { Drawing, Placed } from "./layout";
import type { View } from "./painter";

export interface Zoom {
  view: () => View;
  moveTo: (view: View) => void;
  by: (factor: number) => void;
  fit: (drawing: Drawing, size: [number, number]) => void;
  show: (box: Placed, size: [number, number]) => void;
  center: (place: [number, number], size: [number, number]) => void;
}

// `elsewhere`: whether a point belongs to something that is not dragged.
export function useZoom(
  canvas: RefObject<HTMLCanvasElement | null>,
  repaint: RefObject<() => void>,
  elsewhere: (view: View, x: number, y: number) => boolean,
): Zoom {
  const view = useRef<View>({ x: 0, y: 0, k: 1 });
  const behavior = useRef<ZoomBehavior<HTMLCanvasElement, unknown>>(undefined);
  useEffect(() => {
    let frame = 0;
    behavior.current = makeZoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.01, 4])
      .filter(
        (event: MouseEvent) =>
          !elsewhere(view.current, event.offsetX, event.offsetY) &&
          (!event.ctrlKey || event.type === "wheel") &&
          !event.button,
      )
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        view.current = event.transform;
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          repaint.current!();
        });
      });
    select(canvas.current!).call(behavior.current).on("dblclick.zoom", null);
    return () => cancelAnimationFrame(frame);
  }, []);

  const moveTo = ({ x, y, k }: View): void =>
    behavior.current!.transform(select(canvas.current!), zoomIdentity.translate(x, y).scale(k));
  const center = ([x, y]: [number, number], [width, height]: [number, number], k = view.current.k): void =>
    moveTo({ x: width / 2 - x * k, y: height / 2 - y * k, k });
  return {
    view: () => view.current,
    moveTo,
    by: (factor) => behavior.current!.scaleBy(select(canvas.current!), factor),
    fit: (drawing, size) => {
      const k = Math.min(LARGEST_AT_FIRST, (size[1] - 24) / drawing.height, (size[0] - 24) / drawing.width);
      center([drawing.width / 2, drawing.height / 2], size, k);
    },
    show: ({ x, y }, [width, height]) => {
      const now = view.current;
      const [sx, sy] = [x * now.k + now.x, y * now.k + now.y];
      const seen = sx > 60 && sx < width - 60 && sy > 30 && sy < height - 30 && now.k > 0.35;
      if (!seen) center([x, y], [width, height], Math.max(now.k, READABLE));
    },
    center,
  };
}
