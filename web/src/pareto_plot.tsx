// Cost against goodness, one dot for each recipe, and the line of those that nothing beats.
import { signed } from "./format";

export interface Dot {
  name: string;
  x: number;
  y: number;
  color: string; // of the style sheet
}

interface Props {
  dots: Dot[];
  front: Dot[];
  xLabel: string;
  yLabel: string;
  xText: (value: number) => string;
  xUnit: number; // ticks are round in it
}

const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 54;
const BOTTOM = 42;
const TOP = 14;
const RIGHT = 90;

// A round step that gives about `count` ticks.
function ticksOf(low: number, high: number, count: number): number[] {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(tick);
  return ticks;
}

export function ParetoPlot({ dots, front, xLabel, yLabel, xText, xUnit }: Props) {
  if (dots.length === 0) return <p class="dim">No recipe could be measured.</p>;
  const [xs, ys] = [dots.map((dot) => dot.x), dots.map((dot) => dot.y)];
  const high = Math.max(...xs) * 1.05;
  const low = Math.min(...ys);
  const room = (Math.max(...ys) - low || 1) * 0.08;
  const [bottom, top] = [low - room, Math.max(...ys) + room];
  const px = (x: number): number => LEFT + (x / high) * (WIDTH - LEFT - RIGHT);
  const py = (y: number): number => HEIGHT - BOTTOM - ((y - bottom) / (top - bottom)) * (HEIGHT - BOTTOM - TOP);
  const places = labelPlaces(dots.map((dot) => [px(dot.x), py(dot.y)]));
  return (
    <svg class="pareto" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${yLabel} against ${xLabel}`}>
      {ticksOf(bottom, top, 5).map((tick) => (
        <g key={tick}>
          <line class="rule" x1={LEFT} x2={WIDTH - RIGHT} y1={py(tick)} y2={py(tick)} />
          <text class="tick" x={LEFT - 6} y={py(tick) + 4} text-anchor="end">
            {signed(String(Number(tick.toPrecision(6))))}
          </text>
        </g>
      ))}
      {ticksOf(0, high / xUnit, 5).map((tick) => (
        <text key={tick} class="tick" x={px(tick * xUnit)} y={HEIGHT - BOTTOM + 16} text-anchor="middle">
          {xText(tick * xUnit)}
        </text>
      ))}
      <text class="axis" x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">
        {xLabel}
      </text>
      <text class="axis" transform={`translate(13 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`} text-anchor="middle">
        {yLabel}
      </text>
      <polyline class="front" points={front.map((dot) => `${px(dot.x)},${py(dot.y)}`).join(" ")} />
      {dots.map((dot, i) => (
        <g key={dot.name} class="dot">
          <title>{`${dot.name}: ${xText(dot.x)}, ${signed(dot.y.toFixed(2))}`}</title>
          <circle cx={px(dot.x)} cy={py(dot.y)} r={front.includes(dot) ? 6 : 4.5} style={{ fill: `var(${dot.color})` }} />
          {places[i] !== undefined && (
            <text x={px(dot.x) + 9} y={places[i]! + 4}>
              {dot.name}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

const LINE = 13; // pixels between labels
const WORD = 90;

// Where the labels of dots go so that they do not overlap; none where there is no room nearby.
function labelPlaces(dots: [number, number][]): (number | undefined)[] {
  const taken: [number, number][] = [];
  return dots.map(([x, y]) => {
    for (const by of [0, -LINE, LINE]) {
      const free = taken.every(([tx, ty]) => Math.abs(tx - x) > WORD || Math.abs(ty - y - by) >= LINE);
      if (!free) continue;
      taken.push([x, y + by]);
      return y + by;
    }
    return undefined;
  });
}
