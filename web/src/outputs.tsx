// The parts of the outputs with their metrics, and the samples on which the models differ most.
import { EXACT, NOTHING_LEFT, type PartVerdict, type Report } from "./data";
import { count, DASH, decibels, percent, real } from "./format";
import { isJudged, STATE_HINT } from "./judged";
import { Thumbnail } from "./thumbnail";

const KINDS: Record<PartVerdict["kind"], string> = {
  classes: "classes",
  probabilities: "scores",
  values: "values",
  state: "state",
};

export function Outputs({ report, output }: { report: Report; output: string | undefined }) {
  const parts = (report.data.verdict?.parts ?? []).filter((one) => !output || one.output === output);
  const wholes = (report.data.comparison?.outputs ?? []).filter((one) => !output || one.name === output);
  const samples = (report.data.comparison?.worst_samples ?? []).filter((one) => (one.sqnr_db ?? NOTHING_LEFT) < EXACT);
  if (parts.length + wholes.length === 0)
    return (
      <div class="empty">
        <h3>No outputs were compared</h3>
        <p>
          <code>anybit quantize … --calib SAMPLES --report</code> compares both models.
        </p>
      </div>
    );
  return (
    <div class="column outputs">
      {parts.length > 0 && <Parts parts={parts} />}
      <div class="scroll">
        <table class="runs">
          <thead>
            <tr>
              <th>whole output</th>
              <th>type</th>
              <th>SQNR</th>
              <th>cosine</th>
              <th>largest error</th>
            </tr>
          </thead>
          <tbody>
            {wholes.map((one) => (
              <tr key={one.name}>
                <th>{one.name}</th>
                <td>{report.type(one.name) ?? DASH}</td>
                <td>{decibels(one.sqnr_db)}</td>
                <td>{one.cosine.toFixed(5)}</td>
                <td>
                  {real(one.largest_error)} of {real(one.largest_value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {samples.length > 0 && (
        <>
          <h3>Samples on which the models differ most</h3>
          <ul class="samples">
            {samples.map((one) => (
              <li key={one.sample}>
                {one.thumbnail && <Thumbnail thumbnail={one.thumbnail} label={`Sample ${one.sample}`} />}
                <span>
                  sample {count(one.sample)} <b>{decibels(one.sqnr_db ?? NOTHING_LEFT)}</b>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function Parts({ parts }: { parts: PartVerdict[] }) {
  return (
    <div class="scroll">
      <table class="runs parts">
        <thead>
          <tr>
            <th>part of an output</th>
            <th>channels</th>
            <th>kind</th>
            <th>verdict</th>
            <th>SQNR</th>
            <th>cosine</th>
            <th>decisions</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((one) => (
            <tr key={one.reason}>
              <th>{one.output}</th>
              <td>{one.channels ? `${one.channels[0]}–${one.channels[1]}` : "all"}</td>
              <td title={isJudged(one) ? undefined : STATE_HINT}>{KINDS[one.kind]}</td>
              <td>
                {isJudged(one) ? <b class={`level-${one.level}`}>{one.level}</b> : <span class="dim">not judged</span>}
              </td>
              <td>{decibels(one.sqnr_db ?? NOTHING_LEFT)}</td>
              <td>{one.cosine === null ? DASH : one.cosine.toFixed(5)}</td>
              <td>{decisionsOf(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function decisionsOf({ agreement, decisions }: PartVerdict): string {
  if (agreement) return `same class in ${percent(agreement.agreed, agreement.rows, 1)} of ${count(agreement.rows)} rows`;
  if (!decisions) return DASH;
  const { threshold, before, after, both } = decisions;
  return `above ${threshold}: ${count(both)} of ${count(before)} kept, ${count(after - both)} new`;
}
