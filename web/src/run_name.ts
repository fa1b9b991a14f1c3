// How a report is called beside others.
import type { Report } from "./data";

export const runName = (report: Report): string =>
  report.data.recipe ?? report.data.after?.file.split(/[\\/]/).pop() ?? report.title();

// Names of several reports: numbered where they are the same.
export function runNames(reports: Report[]): string[] {
  const names = reports.map(runName);
  return names.map((name, i) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${names.slice(0, i + 1).filter((one) => one === name).length})`,
  );
}
