// Parts of outputs that the verdict judges: all but states, which a recurrent model takes again.
import type { PartVerdict, Report } from "./data";

export const STATE_HINT = "The model takes it again as an input: what it does to the other outputs counts";

export const isJudged = (part: PartVerdict): boolean => part.kind !== "state";

// The output's name as the chooser lists it.
export function outputLabel(report: Report, output: string): string {
  const parts = (report.data.verdict?.parts ?? []).filter((one) => one.output === output);
  return parts.some((one) => !isJudged(one)) ? `${output} (state, not judged)` : output;
}
