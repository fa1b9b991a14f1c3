// The verdict, first on the page: is the model still good, what is not, and what to try next.
import type { Level, Report } from "./data";

const SIGNS: Record<Level, string> = { ok: "✓", degraded: "!", broken: "✕", unknown: "?" };

export function VerdictBanner({ report }: { report: Report }) {
  const verdict = report.data.verdict;
  if (!verdict) return null;
  const others = verdict.parts.filter((one) => one.reason !== verdict.reason);
  return (
    <section class={`verdict ${verdict.level}`} aria-label="Verdict">
      <b class="level">
        <i aria-hidden="true">{SIGNS[verdict.level]}</i> {verdict.level}
      </b>
      <div class="why">
        <p>{verdict.reason}</p>
        {verdict.recipe && (
          <p class="dim">
            try <code class="word">--recipe {verdict.recipe}</code>
          </p>
        )}
        {others.length > 0 && (
          <details>
            <summary>
              {others.length} more {others.length === 1 ? "part" : "parts"} of the outputs
            </summary>
            <ul>
              {others.map((one) => (
                <li key={one.reason} class={one.level}>
                  <b>{one.level}</b> {one.reason}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </section>
  );
}
