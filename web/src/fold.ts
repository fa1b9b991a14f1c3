// Folds a tall drawing into columns, like the text of a newspaper, so that a deep network fills the width. An edge from
// one column to the next runs below its column, up between the columns, and into the next from above.
import type { Box, Level, Point } from "./level";

const GUTTER = 36;
const LANE = 9; // between edges in a gutter
const MOST_LANES = 6; // more edges than these are not led around
const SLACK = 0.25; // how far a column may be from its ideal height
const MOST_COLUMNS = 8;
const WORTH = 1.12; // how much larger a folded drawing must come out

interface Cut {
  y: number; // between two rows
  crossing: number[]; // routes
}

function cutsOf(level: Level): Cut[] {
  const cuts: Cut[] = [];
  let bottom = -Infinity;
  level.bands.forEach(([top, end], i) => {
    if (i > 0 && top > bottom) {
      const y = (bottom + top) / 2;
      const crossing = level.routes
        .map((_, route) => route)
        .filter((route) => {
          const points = level.routes[route]!;
          return points[0]![1] < y && points[points.length - 1]![1] > y;
        });
      cuts.push({ y, crossing });
    }
    bottom = Math.max(bottom, end);
  });
  return cuts;
}

function chosenCuts(level: Level, cuts: Cut[], columns: number): Cut[] {
  const ideal = level.height / columns;
  const chosen: Cut[] = [];
  for (let i = 1; i < columns; i += 1) {
    const last = chosen[chosen.length - 1]?.y ?? 0;
    let best: Cut | undefined;
    let least = Infinity;
    for (const cut of cuts) {
      const off = Math.abs(cut.y - i * ideal) / ideal;
      const cost = off * 8 + cut.crossing.length;
      if (off > SLACK || cut.y <= last || cut.crossing.length > MOST_LANES || cost >= least) continue;
      [best, least] = [cut, cost];
    }
    if (best) chosen.push(best);
  }
  return chosen;
}

interface Column {
  top: number;
  bottom: number; // in the drawing before
  left: number;
  right: number;
  dx: number; // to its place
  dy: number;
}

// With the number of columns that shows most on a screen of that aspect.
export function folded(level: Level, aspect: number, tallest: number): Level {
  if (level.height <= tallest) return level;
  const scale = ({ width, height }: Level): number => Math.min(aspect / width, 1 / height);
  const cuts = cutsOf(level);
  let best = level;
  for (let columns = 2; columns <= MOST_COLUMNS; columns += 1) {
    const next = foldedAt(level, chosenCuts(level, cuts, columns));
    if (scale(next) > scale(best) * WORTH) best = next;
  }
  return best;
}

function foldedAt(level: Level, cuts: Cut[]): Level {
  if (cuts.length === 0) return level;
  const columns = columnsOf(level, cuts);
  const columnAt = (y: number): number => cuts.filter((cut) => cut.y < y).length;
  const boxes = level.boxes.map((box): Box => {
    const column = columns[columnAt(box.y)]!;
    return { ...box, x: box.x + column.dx, y: box.y + column.dy };
  });
  const routes = level.routes.map((points, route) => {
    const led: Point[] = [];
    let now = columnAt(points[0]![1]);
    for (const [x, y] of points) {
      for (const at = columnAt(y); now < at; now += 1)
        led.push(...around(columns[now]!, columns[now + 1]!, led[led.length - 1]!, x, cuts[now]!, route));
      led.push([x + columns[now]!.dx, y + columns[now]!.dy]);
    }
    return led;
  });
  const height = Math.max(...columns.map((column) => column.bottom + column.dy)) + MOST_LANES * LANE;
  const last = columns[columns.length - 1]!;
  return { width: last.right + last.dx, height, boxes, routes, bands: [] };
}

function columnsOf(level: Level, cuts: Cut[]): Column[] {
  const ends = [...cuts.map((cut) => cut.y), Infinity];
  const columns: Column[] = [];
  let x = 0;
  ends.forEach((end, i) => {
    const begin = i === 0 ? -Infinity : ends[i - 1]!;
    const inside = level.boxes.filter((box) => box.y > begin && box.y < end);
    const xs = inside.flatMap((box) => [box.x - box.width / 2, box.x + box.width / 2]);
    const ys = inside.flatMap((box) => [box.y - box.height / 2, box.y + box.height / 2]);
    for (const route of level.routes)
      for (const [px, py] of route) if (py > begin && py < end) xs.push(px);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    const above = i === 0 ? 0 : (cuts[i - 1]!.crossing.length + 1) * LANE;
    columns.push({ top, bottom, left, right, dx: x - left, dy: above - top });
    x += right - left + GUTTER + (cuts[i]?.crossing.length ?? 0) * LANE;
  });
  return columns;
}

// From the end of one column to the beginning of the next.
function around(from: Column, to: Column, start: Point, x: number, cut: Cut, route: number): Point[] {
  const lane = cut.crossing.indexOf(route);
  const below = from.bottom + from.dy + (lane + 1) * LANE;
  const between = from.right + from.dx + GUTTER / 2 + lane * LANE;
  const above = to.top + to.dy - (cut.crossing.length - lane) * LANE;
  return [
    [start[0], below],
    [between, below],
    [between, above],
    [x + to.dx, above],
  ];
}
