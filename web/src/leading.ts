// The nodes on the paths to an output.
import type { Report } from "./data";

export function leadingTo(report: Report, output: string): Set<number> {
  const leading = new Set<number>();
  const waiting = [output];
  while (waiting.length > 0) {
    const maker = report.maker.get(waiting.pop()!);
    if (maker === undefined || leading.has(maker)) continue;
    leading.add(maker);
    waiting.push(...report.data.nodes[maker]!.in);
  }
  return leading;
}
