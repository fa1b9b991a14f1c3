// Scan: runs its body along an axis of the scan inputs, with states carried from step to step. ONNX: Scan-8
// (a batch axis first, sequence lengths), -9 … -25 (any axis).
#include "ops/check.hpp"
#include "ops/control/control.hpp"
#include "ops/move/axis_slice.hpp"
#include "ops/raise.hpp"

namespace anybit::ops {
namespace {

// Inputs: states, then scan inputs. Version 8 has a batch axis and sequence lengths.
Result<Values> infer_scan(const Call& call) {
  const graph::Graph* body = call.graph("body");
  if (!body) return wrong("Scan needs the graph body");
  const auto scanned = call.integer("num_scan_inputs", 0);
  const auto count = static_cast<std::int64_t>(call.inputs.size());
  if (call.version < 9 || scanned < 1 || scanned > count) return unknown_outputs(call);
  const auto states = static_cast<std::size_t>(count - scanned);
  const auto in_axes = call.integers("scan_input_axes");
  const auto out_axes = call.integers("scan_output_axes");
  Values inputs;
  for (std::size_t i = 0; i < states; ++i) inputs.push_back(without_contents(call.in(i)));
  Dim steps;
  for (std::size_t i = states; i < call.inputs.size(); ++i) {
    Value item = tensor(call.in(i).type, call.in(i).shape);
    if (item.shape) {
      const std::int64_t given = in_axes && i - states < in_axes->size() ? (*in_axes)[i - states] : 0;
      const std::size_t axis = TRY(axis_of(given, item.shape->size()));
      if (!steps.known()) steps = (*item.shape)[axis];
      item.shape->erase(item.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    inputs.push_back(std::move(item));
  }
  const Body inside = TRY(settle(call, *body, inputs, 0, states, 0));
  call.repeat(inside, steps);
  Values values = fitted(inside.outputs, call.output_count());
  for (std::size_t i = states; i < values.size() && i < inside.outputs.size(); ++i) {
    const auto& shape = inside.outputs[i].shape;
    const std::int64_t given = out_axes && i - states < out_axes->size() ? (*out_axes)[i - states] : 0;
    values[i] = stacked(inside.outputs[i], steps, shape ? TRY(axis_of(given, shape->size() + 1)) : 0);
  }
  for (std::size_t i = 0; i < states && i < values.size(); ++i) values[i] = either(values[i], inputs[i]);
  return values;
}

struct Layer {  // one scan: numbers of states, scan inputs and scan outputs
  std::size_t states = 0, scanned = 0, outputs = 0;
  std::vector<std::int64_t> input_directions, output_directions;  // 1: reverse
};

Result<std::vector<std::int64_t>> listed(const Frame& frame, std::string_view name, std::size_t count) {
  const auto given = frame.ints(name);
  if (!given || given->empty()) return std::vector<std::int64_t>(count, 0);
  if (given->size() != count) {
    return wrong(fmt::format("{} has {} elements", name, given->size()), fmt::format("{}", count));
  }
  return std::vector(given->begin(), given->end());
}

// The slice at index `at` of an axis: a view if it is contiguous, else a copy in `buffer`. Neither owns its
// memory, so the body copies what it keeps.
Datum place_of(const Array& whole, std::size_t axis, std::int64_t at, Array& buffer) {
  if (buffer.type() != ElementType::undefined) {
    take_part(whole, buffer, axis, at, 1);
    return whole.type() == ElementType::string
               ? Datum(buffer)
               : Datum(Array::over(buffer.type(), buffer.dims(), buffer.mutable_bytes()));
  }
  Dims dims = whole.dims();
  dims.erase(axis);
  const std::size_t step = static_cast<std::size_t>(dims.count()) * element_bytes(whole.type());
  auto* data = const_cast<std::byte*>(whole.bytes());  // the body only reads it
  return Array::over(whole.type(), dims, data + static_cast<std::size_t>(at) * step);
}

Result<Array> buffer_for(Frame& frame, const Array& whole, std::size_t axis) {
  if (whole.type() != ElementType::string && whole.dims().product(0, axis) == 1) return Array();
  Dims dims = whole.dims();
  dims.erase(axis);
  return Array::make(frame.memory(), whole.type(), dims);
}

// Runs the body for `steps` steps over `walked`; `states` become the final ones.
Result<void> walk(Frame& frame, const Layer& layer, std::int64_t steps, std::vector<Datum>& states,
                  std::span<const Array> walked, std::span<const std::size_t> axes,
                  std::vector<std::vector<Datum>>& collected) {
  std::vector<Array> buffers;
  for (std::size_t i = 0; i < layer.scanned; ++i) {
    buffers.push_back(TRY(buffer_for(frame, walked[i], axes[i])));
  }
  std::vector<Datum> inputs(layer.states + layer.scanned);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < layer.states; ++i) inputs[i] = states[i];
    for (std::size_t i = 0; i < layer.scanned; ++i) {
      const std::int64_t at = layer.input_directions[i] ? steps - 1 - step : step;
      if (walked[i].type() == ElementType::string) buffers[i] = TRY(buffer_for(frame, walked[i], axes[i]));
      inputs[layer.states + i] = place_of(walked[i], axes[i], at, buffers[i]);
    }
    const auto results = TRY(frame.call("body", inputs));
    for (std::size_t i = 0; i < layer.states; ++i) states[i] = results[i];
    for (std::size_t i = 0; i < layer.outputs; ++i) collected[i].push_back(results[layer.states + i]);
  }
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    if (layer.output_directions[i]) std::ranges::reverse(collected[i]);
  }
  return {};
}

Result<Layer> layer_of(const Frame& frame, std::size_t first) {
  Layer layer;
  const std::int64_t scanned = frame.integer("num_scan_inputs", 0);
  const auto given = static_cast<std::int64_t>(frame.input_count() - first);
  if (scanned < 1 || scanned > given) {
    return wrong(fmt::format("num_scan_inputs is {}", scanned), fmt::format("1 to {}", given));
  }
  layer.scanned = static_cast<std::size_t>(scanned);
  layer.states = static_cast<std::size_t>(given - scanned);
  if (frame.output_count() < layer.states) {
    return wrong(fmt::format("it has {} outputs", frame.output_count()),
                 fmt::format("one for each of its {} states, at least", layer.states));
  }
  layer.outputs = frame.output_count() - layer.states;
  for (std::size_t i = first; i < frame.input_count(); ++i) {
    if (!frame.datum(i).is_array())
      return wrong(fmt::format("input {} is {}", i, to_string(frame.datum(i))), "a tensor");
  }
  layer.input_directions =
      TRY(listed(frame, first == 1 ? "directions" : "scan_input_directions", layer.scanned));
  layer.output_directions = TRY(listed(frame, "scan_output_directions", layer.outputs));
  return layer;
}

Result<void> run_scan(Frame& frame) {
  const Layer layer = TRY(layer_of(frame, 0));
  const graph::Graph* body = TRY(body_of(frame, "body", frame.input_count(), frame.output_count()));
  const auto in_axes = TRY(listed(frame, "scan_input_axes", layer.scanned));
  const auto out_axes = TRY(listed(frame, "scan_output_axes", layer.outputs));
  std::vector<Array> walked;
  std::vector<std::size_t> axes;
  std::vector<Datum> states;
  for (std::size_t i = 0; i < layer.states; ++i) states.push_back(frame.datum(i));
  for (std::size_t i = 0; i < layer.scanned; ++i) {
    walked.push_back(frame.in(layer.states + i));
    axes.push_back(TRY(axis_of(in_axes[i], walked[i].rank())));
    if (walked[i].dim(axes[i]) != walked[0].dim(axes[0])) {
      return wrong(fmt::format("the scan inputs have lengths {} and {}", walked[0].dim(axes[0]),
                               walked[i].dim(axes[i])),
                   "the same length for all");
    }
  }
  if (only_checks(frame)) return {};
  std::vector<std::vector<Datum>> collected(layer.outputs);
  TRY(walk(frame, layer, walked[0].dim(axes[0]), states, walked, axes, collected));
  for (std::size_t i = 0; i < layer.states; ++i) TRY(frame.set(i, states[i]));
  for (std::size_t i = 0; i < layer.outputs; ++i) {
    const std::size_t o = layer.states + i;
    TRY(put_stacked(frame, o, collected[i], out_axes[i], body->outputs[o]));
  }
  return {};
}

// One row of a batch, as a view. Strings are not supported in version 8; no known model needs them.
Result<Array> row_of(const Array& batch, std::int64_t row) {
  if (batch.type() == ElementType::string) return wrong("Scan-8 does not support strings");
  Array none;
  return place_of(batch, 0, row, none).array;
}

// Copies a value into its row of an output [batch, …], which the first row allocates; a shorter sequence is
// padded with 0.
Result<void> put_row(Frame& frame, std::size_t i, Array*& out, const Array& value, std::int64_t row,
                     std::int64_t rows, std::optional<std::int64_t> length) {
  if (value.type() == ElementType::string || value.type() == ElementType::undefined) {
    return wrong(fmt::format("output {} is {}", i, to_string(value)), "a tensor of numbers");
  }
  Dims dims = value.dims();
  if (dims.size() + 1 >= Dims::kCapacity) return wrong("an output has too many dimensions");
  const std::int64_t used = length ? dims[0] : 0;
  if (length) dims[0] = *length;
  dims.insert(0, rows);
  if (!out) {
    out = TRY(frame.out(i, value.type(), dims));
    std::fill_n(out->mutable_bytes(), out->byte_count(), std::byte{0});
  }
  if (out->type() != value.type() || !(out->dims() == dims)) {
    return wrong(fmt::format("output {} is {} in row {} of the batch", i, to_string(value), row),
                 "the same in all rows");
  }
  const std::size_t size = value.byte_count();
  const std::size_t stride =
      length && used ? size / static_cast<std::size_t>(used) * static_cast<std::size_t>(*length) : size;
  std::copy_n(value.bytes(), size, out->mutable_bytes() + static_cast<std::size_t>(row) * stride);
  return {};
}

// Version 8: each row of the batch is scanned separately.
Result<void> run_batches(Frame& frame) {
  const Layer layer = TRY(layer_of(frame, 1));
  TRY(body_of(frame, "body", frame.input_count() - 1, frame.output_count()));
  const Array& first = frame.in(1 + layer.states);
  if (first.rank() < 2)
    return wrong(fmt::format("the first scan input is {}", to_string(first)), "[batch, length, …]");
  const std::int64_t rows = first.dim(0), length = first.dim(1);
  for (std::size_t i = 1; i < frame.input_count(); ++i) {
    const Array& one = frame.in(i);
    const bool walked = i > layer.states;
    if (one.rank() < 1 || one.dim(0) != rows || (walked && (one.rank() < 2 || one.dim(1) != length))) {
      return wrong(fmt::format("input {} is {}", i, to_string(one)),
                   fmt::format("a batch of {}{}", rows, walked ? fmt::format(", of length {}", length) : ""));
    }
  }
  if (frame.has(0) && (frame.in(0).type() != ElementType::int64 || frame.in(0).count() != rows)) {
    return wrong(fmt::format("the lengths are {}", to_string(frame.datum(0))),
                 fmt::format("int64[{}]", rows));
  }
  if (rows == 0) return wrong("the batch is empty");
  if (only_checks(frame)) return {};
  std::vector<Array*> outputs(frame.output_count(), nullptr);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t steps = frame.has(0) ? frame.in(0).data<std::int64_t>()[row] : length;
    if (steps < 0 || steps > length)
      return wrong(fmt::format("a length is {}", steps), fmt::format("0 to {}", length));
    std::vector<Datum> states;
    std::vector<Array> walked;
    for (std::size_t i = 0; i < layer.states; ++i) states.push_back(TRY(row_of(frame.in(1 + i), row)));
    for (std::size_t i = 0; i < layer.scanned; ++i)
      walked.push_back(TRY(row_of(frame.in(1 + layer.states + i), row)));
    const std::vector<std::size_t> axes(layer.scanned, 0);
    std::vector<std::vector<Datum>> collected(layer.outputs);
    TRY(walk(frame, layer, steps, states, walked, axes, collected));
    for (std::size_t i = 0; i < layer.states; ++i)
      TRY(put_row(frame, i, outputs[i], states[i].array, row, rows, std::nullopt));
    for (std::size_t i = 0; i < layer.outputs; ++i) {
      if (collected[i].empty()) {
        if (row == 0)
          return wrong("the first sequence of the batch is empty", "its steps give the shape of the output");
        continue;
      }
      Dims dims = collected[i][0].array.dims();
      if (dims.size() + 2 >= Dims::kCapacity) return wrong("an output has too many dimensions");
      dims.insert(0, static_cast<std::int64_t>(collected[i].size()));
      Array joined = TRY(Array::make(frame.memory(), collected[i][0].array.type(), dims));
      for (std::size_t k = 0; k < collected[i].size(); ++k) {
        if (!(collected[i][k].array.dims() == collected[i][0].array.dims()) ||
            collected[i][k].array.type() != joined.type())
          return wrong("the body's outputs differ in shape from step to step");
        put_part(collected[i][k].array, joined, 0, static_cast<std::int64_t>(k), 1);
      }
      const std::size_t o = layer.states + i;
      TRY(put_row(frame, o, outputs[o], joined, row, rows, length));
    }
  }
  return {};
}

Result<void> run(Frame& frame) { return frame.version < 9 ? run_batches(frame) : run_scan(frame); }

Result<void> raise_to_9(Raising&) {
  return error_at(Code::unsupported, {},
                  "Scan of opset 8 has a batch axis and cannot be converted to a newer opset",
                  "export the model again with a newer opset");
}

}  // namespace

std::span<const Descriptor> scan_descriptors() {
  static const Descriptor all[] = {{.name = "Scan",
                                    .domain = "",
                                    .since = {8, 9, 11, 16, 19, 21, 23, 24, 25},
                                    .infer = infer_scan,
                                    .run = run,
                                    .required = 0,
                                    .raise = {{9, raise_to_9}}}};
  return all;
}

}  // namespace anybit::ops
