// One tensor: its histogram, range, grid and error.
import { useState } from "preact/hooks";
import type { Tensor, Weight } from "./data";
import { bytes, count, decibels, real, share } from "./format";
import { HistogramPlot, type Grid } from "./histogram_plot";

function Logarithmic({ value, onChange }: { value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />{" "}
      logarithmic counts
    </label>
  );
}

export function TensorView({
  tensor,
  theme,
  full = false,
}: {
  tensor: Tensor;
  theme: string;
  full?: boolean;
}) {
  const [logarithmic, setLogarithmic] = useState(true);
  const grid: Grid | undefined = tensor.levels
    ? { low: tensor.grid_low ?? 0, high: tensor.grid_high ?? 0, levels: tensor.levels }
    : undefined;
  return (
    <figure>
      <figcaption>
        <b>{tensor.name}</b> {tensor.to && <span class="dim">{tensor.to}</span>}
      </figcaption>
      {tensor.histogram ? (
        <HistogramPlot
          histogram={tensor.histogram}
          low={tensor.low}
          high={tensor.high}
          grid={grid}
          logarithmic={logarithmic}
          theme={theme}
        />
      ) : (
        <p class="dim">
          {tensor.fixed
            ? "The operator fixes the range: no calibration data needed."
            : tensor.samples === undefined
              ? "No calibration data: the grid is dynamic, or given by the file."
              : "No histogram: the calibration collected none."}
        </p>
      )}
      <dl>
        {tensor.low !== undefined && (
          <>
            <dt title="Values outside saturate">range</dt>
            <dd>
              {real(tensor.low)} to {real(tensor.high)}
            </dd>
          </>
        )}
        {tensor.seen_low !== undefined && (
          <>
            <dt>observed</dt>
            <dd>
              {real(tensor.seen_low)} to {real(tensor.seen_high)}, {tensor.samples} samples
            </dd>
          </>
        )}
        {tensor.saturated !== undefined && (
          <>
            <dt title="Share of the observed values outside of the range">clipped</dt>
            <dd>{share(tensor.saturated)}</dd>
          </>
        )}
        {tensor.levels !== undefined && (
          <>
            <dt title="value = scale · (q − zero point)">grid</dt>
            <dd>
              {tensor.levels.toLocaleString("en")} steps of {real(tensor.scale)}, zero at {real(tensor.zero_point)}
            </dd>
          </>
        )}
        {full && tensor.values && (
          <>
            <dt>shared by</dt>
            <dd class="names">{tensor.values.join(", ")}</dd>
          </>
        )}
      </dl>
      {tensor.histogram && full && <Logarithmic value={logarithmic} onChange={setLogarithmic} />}
    </figure>
  );
}

export function WeightView({
  weight,
  theme,
  full = false,
}: {
  weight: Weight;
  theme: string;
  full?: boolean;
}) {
  const [logarithmic, setLogarithmic] = useState(false);
  const single = weight.scales === 1 && weight.levels !== undefined && weight.scale_low !== undefined;
  const half = (weight.levels ?? 0) / 2;
  const grid: Grid | undefined = single
    ? { low: -half * weight.scale_low!, high: (half - 1) * weight.scale_low!, levels: weight.levels! }
    : undefined;
  return (
    <figure>
      <figcaption>
        <b>{weight.name}</b> <span class="dim">{weight.to ?? "float32"}</span>
      </figcaption>
      {weight.histogram ? (
        <HistogramPlot histogram={weight.histogram} grid={grid} logarithmic={logarithmic} theme={theme} />
      ) : (
        <p class="dim">No histogram.</p>
      )}
      <dl>
        {weight.histogram && (
          <>
            <dt>values</dt>
            <dd>
              {real(weight.histogram.low)} to {real(weight.histogram.high)}
            </dd>
          </>
        )}
        <dt>size</dt>
        <dd>
          {weight.bytes_after === undefined ? (
            bytes(weight.bytes_before)
          ) : (
            <>
              {bytes(weight.bytes_before)} → {bytes(weight.bytes_after)}
            </>
          )}
        </dd>
        {weight.sqnr_db !== undefined && (
          <>
            <dt>SQNR</dt>
            <dd>{decibels(weight.sqnr_db)}</dd>
          </>
        )}
        {weight.scales !== undefined && (
          <>
            <dt>scales</dt>
            <dd>
              {weight.scales === 1
                ? real(weight.scale_low)
                : `${weight.scales.toLocaleString("en")}, ${real(weight.scale_low)} to ${real(weight.scale_high)}`}
            </dd>
          </>
        )}
        {weight.levels !== undefined && (
          <>
            <dt>levels</dt>
            <dd>{weight.levels.toLocaleString("en")}</dd>
          </>
        )}
        {weight.raised !== undefined && (
          <>
            <dt title="Scales that are raised so that the bias fits int32">raised scales</dt>
            <dd>{weight.raised}</dd>
          </>
        )}
        {weight.rounded_for_sums !== undefined && (
          <>
            <dt title="Weights that sum-preserving rounding rounds to the second nearest value">
              rounded for sums
            </dt>
            <dd>{count(weight.rounded_for_sums)}</dd>
          </>
        )}
      </dl>
      {weight.histogram && full && <Logarithmic value={logarithmic} onChange={setLogarithmic} />}
    </figure>
  );
}
