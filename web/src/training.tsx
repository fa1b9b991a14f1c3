// What training did: its loss and the agreement with the float model, step by step, and both before and after it.
import uPlot from "uplot";
import { cssColor } from "./colors";
import type { Report } from "./data";
import type { Training as Trained } from "./document";
import { count, signed } from "./format";
import { axis, tell, usePlot } from "./plot";

const digits = (value: number): string => signed(String(Number(value.toPrecision(3))));
const share = (value: number): string => `${(value * 100).toFixed(2)} %`;

export function Training({ report, theme }: { report: Report; theme: string }) {
  const done = report.data.training!;
  return (
    <div class="column training">
      <p>
        {count(done.steps)} steps of {count(done.batch)} samples in {done.seconds.toFixed(0)} s, {done.loss}
        {done.restarts > 0 && `; it diverged ${done.restarts} times and went back`}
        {!done.trained && "; it brought nothing, so the model is quantized without it"}
      </p>
      <table class="runs">
        <thead>
          <tr>
            <th>on samples that do not change</th>
            <th>before</th>
            <th>after</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th>loss</th>
            <td>{digits(done.loss_before)}</td>
            <td>{digits(done.loss_after)}</td>
          </tr>
          {done.agreement_before !== null && done.agreement_after !== null && (
            <tr>
              <th>agreement with the float model</th>
              <td>{share(done.agreement_before)}</td>
              <td>{share(done.agreement_after)}</td>
            </tr>
          )}
        </tbody>
      </table>
      <Curve label="loss" points={done.curve} of={(one) => one.loss} text={digits} series={0} theme={theme} />
      {done.curve.some((one) => one.agreement !== null) && (
        <Curve label="agreement" points={done.curve} of={(one) => one.agreement} text={share} series={1} theme={theme} />
      )}
    </div>
  );
}

type Point = Trained["curve"][number];

interface Props {
  label: string;
  points: Point[];
  of: (point: Point) => number | null;
  text: (value: number) => string;
  series: number; // its colour
  theme: string;
}

function Curve({ label, points, of, text, series, theme }: Props) {
  const place = usePlot(
    (width) =>
      points.length === 0
        ? undefined
        : new uPlot(
            {
              width,
              height: 170,
              padding: [10, 24, 0, 0],
              legend: { show: false },
              cursor: { y: false, drag: { x: false, y: false } },
              scales: { x: { time: false } },
              axes: [
                { ...axis(), size: 26, label: "steps", labelSize: 16 },
                { ...axis(), size: 60, label, labelSize: 16, values: (_, ticks) => ticks.map(text) },
              ],
              series: [{}, { stroke: cssColor(`--series-${series}`), width: 1.6, points: { show: false } }],
              hooks: {
                setCursor: [
                  (one) =>
                    tell(one, (i) => {
                      const value = points[i] && of(points[i]);
                      return value === null || value === undefined ? "" : `step ${points[i]!.step}: ${text(value)}`;
                    }),
                ],
              },
            },
            [points.map((one) => one.step), points.map(of)],
            document.createElement("div"),
          ),
    [points, theme],
  );
  return <div class="plot" role="img" aria-label={`${label} by step`} ref={place} />;
}
