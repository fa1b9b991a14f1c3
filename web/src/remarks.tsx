// What the run has remarked, behind the answers: details that a reader opens.
import type { Report } from "./data";

export function Remarks({ report }: { report: Report }) {
  const remarks = report.data.remarks ?? [];
  if (remarks.length === 0) return null;
  return (
    <details class="remarks">
      <summary>
        {remarks.length} {remarks.length === 1 ? "remark" : "remarks"}
      </summary>
      <ul>
        {remarks.map((remark) => (
          <li key={remark}>{remark}</li>
        ))}
      </ul>
    </details>
  );
}
