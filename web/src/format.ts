// Formats numbers for display. A missing number is a dash.
import { EXACT, NOTHING_LEFT } from "./data";

export const DASH = "–";

// A true minus sign, as wide as a digit and a plus sign.
export const signed = (text: string): string => text.replaceAll("-", "−");

// A text of the engine with true minus signs and arrows; hyphens of names and ranges stay.
export const signedText = (text: string): string =>
  text.replace(/(^|[\s(])-(?=\d)/g, "$1−").replaceAll(" -> ", " → ");

export function bytes(count: number | undefined): string {
  if (count === undefined) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

export function decibels(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value <= NOTHING_LEFT) return "lost";
  return value >= EXACT ? "exact" : `${signed(value.toFixed(1))} dB`;
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value < 1) return `${(value * 1000).toFixed(0)} µs`;
  return value < 1000 ? `${value.toFixed(value < 10 ? 2 : 1)} ms` : `${(value / 1000).toFixed(2)} s`;
}

export function percent(part: number, whole: number, digits = 2): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(digits)} %` : DASH;
}

// Noise as a share of the signal: 0.037 is 3.7 %.
export function noisePercent(noise: number): string {
  if (noise >= 1e8) return "only";
  const percents = 100 * noise;
  return percents < 0.01 ? "< 0.01 %" : `${Number(percents.toPrecision(2)).toLocaleString("en")} %`;
}

export function share(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value === 0) return "none";
  return value < 0.0001 ? `${(value * 1e6).toPrecision(2)} ppm` : `${(value * 100).toPrecision(2)} %`;
}

// Three or four significant digits.
export function real(value: number | undefined): string {
  if (value === undefined) return DASH;
  if (value === 0) return "0";
  if (Number.isNaN(value)) return DASH;
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  return signed(size >= 1e5 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(4))));
}

export const count = (value: number): string => value.toLocaleString("en");
// With a sign, also of positive numbers.
export const change = (value: number, digits: number): string =>
  `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

export const times = (ratio: number): string => `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`;

// "1.60 × faster", "1.14 × slower", or "as fast".
export function compared(ratio: number, more: string, less: string, same: string): string {
  if (times(ratio) === times(1)) return same;
  return ratio > 1 ? `${times(ratio)} ${more}` : `${times(1 / ratio)} ${less}`;
}
