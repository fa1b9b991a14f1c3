// A virtual list: only the visible rows are in the page. Keys: arrows, Home, End, PageUp, PageDown.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

interface Props<Row> {
  label: string;
  rows: Row[];
  rowHeight: number;
  heightOf?: (row: Row) => number; // if row heights differ
  selected: number; // -1: none
  render: (row: Row, index: number) => ComponentChildren;
  onSelect: (row: Row, index: number) => void;
}

const BEYOND = 6; // rows rendered above and below the visible part

// The last row whose top is at `y` or above.
function rowAt(tops: number[], y: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tops[middle]! <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function List<Row>({ label, rows, rowHeight, heightOf, selected, render, onSelect }: Props<Row>) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const element = place.current!;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  // The top of each row; the last entry is the total height.
  const tops = useMemo(() => {
    const list = [0];
    for (const row of rows) list.push(list[list.length - 1]! + (heightOf?.(row) ?? rowHeight));
    return list;
  }, [rows, rowHeight, heightOf]);
  useLayoutEffect(() => {
    const element = place.current!;
    if (selected < 0) return;
    const y = tops[selected]!;
    if (y < element.scrollTop || tops[selected + 1]! > element.scrollTop + element.clientHeight)
      element.scrollTop = y - element.clientHeight / 2;
  }, [selected, rows]);

  const first = Math.max(0, rowAt(tops, top) - BEYOND);
  const last = Math.min(rows.length, rowAt(tops, top + height) + 1 + BEYOND);
  const key = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: selected + 1,
      ArrowUp: selected < 0 ? 0 : selected - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: selected + page,
      PageUp: selected - page,
    };
    const wanted = steps[event.key];
    if (wanted === undefined || rows.length === 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, wanted));
    onSelect(rows[next]!, next);
  };
  return (
    <div
      class="list"
      ref={place}
      tabIndex={0}
      role="listbox"
      aria-label={label}
      onKeyDown={key}
      aria-activedescendant={selected >= 0 ? `${label}-${selected}` : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div style={{ height: `${tops[rows.length]!}px`, position: "relative" }}>
        {rows.slice(first, last).map((row, i) => {
          const index = first + i;
          return (
            <div
              key={index}
              id={`${label}-${index}`}
              role="option"
              aria-selected={index === selected}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              class="row"
              style={{ top: `${tops[index]!}px`, height: `${tops[index + 1]! - tops[index]!}px` }}
              onClick={() => onSelect(row, index)}
            >
              {render(row, index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
