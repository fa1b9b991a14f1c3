// LookUpNeurons of ai.anybit: neurons as truth tables. Inputs: x [..., inputs] of uint8 or int8, whose lowest
// `input_bits` bits count; connections int32 [tables, repeats, fan_in], numbers of inputs, or -1 for the
// constant 0; tables uint8 [tables, bytes], packed entries. Definition: docs/logic.md.
#include <algorithm>
#include <optional>

#include "kernels/logic/neurons.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Neurons;
using kernels::NeuronShape;

// Larger than any memory, yet sizes in bits cannot overflow.
constexpr std::int64_t kMostNeurons = std::int64_t{1} << 31;

Result<NeuronShape> neuron_shape(const Attributes& node, const Array& connections, const Array& tables) {
  const std::int64_t input_bits = node.integer("input_bits", 1), output_bits = node.integer("output_bits", 1);
  for (const auto& [name, bits] :
       {std::pair("input_bits", input_bits), std::pair("output_bits", output_bits)}) {
    if (bits < 1 || bits > 8) return wrong(fmt::format("{} is {}", name, bits), "1 to 8");
  }
  if (connections.type() != ElementType::int32 || connections.rank() != 3)
    return wrong(fmt::format("input 1, the connections, is {}", to_string(connections)),
                 "int32[tables, repeats, fan-in]");
  const std::int64_t fan_in = connections.dim(2);
  if (fan_in < 1 || fan_in > kernels::kMostAddressBits || fan_in * input_bits > kernels::kMostAddressBits)
    return wrong(fmt::format("a neuron has {} inputs of {} bits", fan_in, input_bits),
                 fmt::format("at least one input, and at most {} bits in all", kernels::kMostAddressBits));
  NeuronShape shape;
  shape.tables = connections.dim(0);
  shape.repeats = connections.dim(1);
  shape.fan_in = static_cast<int>(fan_in);
  shape.input_bits = static_cast<int>(input_bits);
  shape.output_bits = static_cast<int>(output_bits);
  shape.is_signed = node.integer("signed", 0) != 0;
  const Dims wanted{shape.tables, shape.bytes()};
  if (tables.type() != ElementType::uint8 || tables.dims() != wanted)
    return wrong(fmt::format("input 2, the tables, is {}", to_string(tables)),
                 fmt::format("uint8[{}]", fmt::join(wanted, ", ")));
  if (shape.neurons() >= kMostNeurons || tables.count() >= kMostNeurons)
    return wrong(fmt::format("{} neurons with tables of {} bytes", shape.neurons(), tables.count()),
                 "fewer than 2^31 of both");
  return shape;
}

Result<Neurons> neurons_of(const NeuronShape& shape, const Array& connections, const Array& tables) {
  const auto all = connections.elements<std::int32_t>();
  const auto low = std::ranges::find_if(all, [](std::int32_t one) { return one < kernels::kNoInput; });
  if (low != all.end())
    return wrong(fmt::format("a connection is {}", *low), "the number of an input, or -1 for the constant 0");
  return Neurons(shape, all, tables.elements<std::uint8_t>());
}

struct PreparedNeurons : Prepared {
  explicit PreparedNeurons(Neurons made) : neurons(std::move(made)) {}
  Neurons neurons;
  std::int64_t bytes() const override { return neurons.bytes(); }
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array *connections = setup.constant(1), *tables = setup.constant(2);
  if (!connections || !tables) return std::shared_ptr<const Prepared>();
  const NeuronShape shape = TRY(neuron_shape(setup, *connections, *tables));
  return std::shared_ptr<const Prepared>(
      std::make_shared<PreparedNeurons>(TRY(neurons_of(shape, *connections, *tables))));
}

Result<Values> infer(const Call& call) {
  const ElementType type = call.integer("signed", 0) != 0 ? ElementType::int8 : ElementType::uint8;
  const auto &x = call.in(0).shape, &connections = call.in(1).shape;
  if (!x || !connections || x->empty() || connections->size() != 3)
    return outputs_of(call, tensor(type, std::nullopt));
  Shape shape = *x;
  shape.back() = (*connections)[0] * (*connections)[1];
  return outputs_of(call, tensor(type, std::move(shape)));
}

void look_up(const Frame& frame, const Neurons& neurons, const Array& x, std::int64_t inputs, Array& out) {
  const std::int64_t count = neurons.shape().neurons(), rows = count == 0 ? 0 : out.count() / count;
  const auto* from = x.data<std::uint8_t>();
  auto* to = out.mutable_data<std::uint8_t>();
  if (const std::int64_t together = neurons.together(rows); together > 1) {
    frame.pool().run((rows + together - 1) / together, 1, [&](std::int64_t block, std::int64_t) {
      const std::int64_t first = block * together, part = std::min(together, rows - first);
      if (together == Neurons::kBlock) {
        neurons.run_sliced(from + first * inputs, inputs, part, to + first * count);
      } else {
        neurons.run_group(from + first * inputs, inputs, part, to + first * count);
      }
    });
    return;
  }
  constexpr std::int64_t kChunk = 8192;  // neurons: their inputs are unpacked once
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  frame.pool().run(rows * chunks, part_size(rows * chunks, static_cast<double>(std::min(count, kChunk)) * 4),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t row = i / chunks, first = i % chunks * kChunk;
                       neurons.run_row(from + row * inputs, inputs, first, std::min(first + kChunk, count),
                                       to + row * count);
                     }
                   });
}

Result<void> run(Frame& frame) {
  const Array &x = frame.in(0), &connections = frame.in(1), &tables = frame.in(2);
  if ((x.type() != ElementType::uint8 && x.type() != ElementType::int8) || x.rank() == 0)
    return wrong_type(frame, 0);
  const NeuronShape shape = TRY(neuron_shape(frame, connections, tables));
  if (!has_elements(connections) || !has_elements(tables)) return not_known();
  std::optional<Neurons> read;
  const auto* prepared = frame.prepared<PreparedNeurons>();
  if (!prepared) read = TRY(neurons_of(shape, connections, tables));
  const Neurons& neurons = read ? *read : prepared->neurons;
  const std::int64_t inputs = x.dim(x.rank() - 1);
  if (neurons.inputs() > inputs)
    return wrong(fmt::format("a connection names input {}, and there are {}", neurons.inputs() - 1, inputs));
  Dims dims = x.dims();
  dims[dims.size() - 1] = shape.neurons();
  Array& out = *TRY(frame.out(0, shape.is_signed ? ElementType::int8 : ElementType::uint8, dims));
  if (out.count() > 0) look_up(frame, neurons, x, inputs, out);
  return {};
}

}  // namespace

std::span<const Descriptor> look_up_neurons_descriptors() {
  static const Descriptor all[] = {{.name = "LookUpNeurons",
                                    .domain = graph::kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 3}};
  return all;
}

}  // namespace anybit::ops
