// For code generators: a Decode of constants becomes a TableDecode, whose inputs describe the number format
// completely, in as few bits per weight as the format has. Weights for which this is impossible become
// floats.
#include <algorithm>
#include <bit>

#include "ops/convert.hpp"
#include "ops/node_attributes.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/quantized/table_decode.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;
using Floats = std::vector<float>;

Result<Array> array_of(const Floats& numbers, const ops::Dims& dims, ops::Memory& memory) {
  Array made = TRY(Array::make(memory, ElementType::float32, dims));
  std::ranges::copy(numbers, made.mutable_data<float>());
  return made;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

bool same_bits(const Floats& a, const float* b) {
  return std::ranges::equal(a, std::span(b, a.size()), {}, bits_of, bits_of);
}

// The numbers divided by `unit` in that type; empty if it does not hold all of them exactly.
Result<std::optional<Array>> in_type(const Floats& numbers, float unit, ElementType type,
                                     const ops::Dims& dims, ops::Memory& memory) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  Floats values = numbers;
  for (float& one : values) one /= unit;
  Array made = TRY(Array::make(memory, type, dims));
  auto* bytes = reinterpret_cast<std::byte*>(values.data());
  ops::convert(ElementType::float32, bytes, type, made.mutable_bytes(), count,
               {.saturate = true, .e8m0_round = ops::ConvertOptions::Round::nearest});
  ops::convert(type, made.bytes(), ElementType::float32, bytes, count);
  for (float& one : values) one *= unit;
  return same_bits(numbers, values.data()) ? std::optional(std::move(made)) : std::nullopt;
}

bool all_the_same(const Floats& numbers) {
  return std::ranges::all_of(numbers, [&](float one) { return one == numbers[0]; });
}

// One number if all are equal; otherwise all, in the first type that holds them exactly.
Result<Array> narrowest(const Floats& numbers, std::initializer_list<ElementType> types,
                        const ops::Dims& dims, ops::Memory& memory) {
  if (all_the_same(numbers)) return array_of({numbers[0]}, {1}, memory);
  for (const ElementType type : types) {
    if (auto made = TRY(in_type(numbers, 1, type, dims, memory))) return *std::move(made);
  }
  return array_of(numbers, dims, memory);
}

// The decoded values of all codes, for a group with these words.
Floats values_of(const kernels::TensorCodec& codec, formats::ConstWords words) {
  Floats values(std::size_t{1} << codec.bits());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto code = static_cast<formats::Code16>(i);
    codec.codec().decode(std::span(&code, 1), words, &values[i]);  // a group may be smaller than all codes
  }
  return values;
}

// Two numbers per line of 2^low_bits codes: the first value and the step to the next; empty if codes in use
// do not lie on such lines.
std::optional<Floats> lines_of(const Floats& values, const std::vector<bool>& used, int low_bits) {
  const std::size_t length = std::size_t{1} << low_bits;
  Floats lines;
  for (std::size_t first = 0; first < values.size(); first += length) {
    const float begin = values[first], step = values[first + 1] - begin;
    for (std::size_t i = 0; i < length; ++i) {
      const float value = begin + static_cast<float>(i) * step;
      if (used[first + i] && bits_of(value) != bits_of(values[first + i])) return std::nullopt;
    }
    lines.insert(lines.end(), {begin, step});
  }
  return lines;
}

struct Tables {
  Floats table = {};  // one, or one per group
  int low_bits = 0;
  Floats factors = {}, zeros = {};  // one per group
  float unit = 1;
  std::vector<std::uint8_t> halved = {};
};

constexpr int kTableBits = 8;  // up to this width, codes index a table unless two lines do

// Integers, signed or unsigned, lie on two lines; wide floats on one line per exponent.
void shorten(Tables& tables, const ops::StoredWeight& weight, ThreadPool& pool) {
  std::vector<formats::Code16> codes(static_cast<std::size_t>(weight.codec.count()));
  weight.codec.unpack(weight.codes, codes.data(), pool);
  std::vector<bool> used(tables.table.size());
  for (const formats::Code16 code : codes) used[code] = true;
  const int bits = weight.codec.bits(), least = bits > kTableBits ? 2 : bits - 1;
  for (int low_bits = bits - 1; low_bits >= least; --low_bits) {
    auto lines = lines_of(tables.table, used, low_bits);
    if (!lines) continue;
    tables.table = *std::move(lines);
    tables.low_bits = low_bits;
    return;
  }
}

void add_halved(Tables& tables, formats::ConstWords bits, std::int64_t group_size) {
  for (std::int64_t i = 0; i < (group_size + 15) / 16; ++i)
    tables.halved.push_back(
        static_cast<std::uint8_t>(bits[static_cast<std::size_t>(i / 4)] >> (8 * (i % 4))));
}

// Empty if groups need tables of their own that together have more entries than the weight.
std::optional<Tables> tables_of(const ops::StoredWeight& weight, ThreadPool& pool) {
  const kernels::TensorCodec& codec = weight.codec;
  const std::int64_t most = std::max<std::int64_t>(256, codec.count());
  Tables tables;
  std::vector<std::uint32_t> neutral(codec.stride());
  codec.codec().set_neutral(neutral);
  for (std::int64_t group = 0; group < codec.grouping().groups(); ++group) {
    const auto words = std::span(weight.parameters)
                           .subspan(static_cast<std::size_t>(group) * codec.stride(), codec.stride());
    const auto scaled = codec.codec().scaled(words);
    if (!scaled) {
      const Floats own = values_of(codec, words);
      tables.table.insert(tables.table.end(), own.begin(), own.end());
      if (std::ssize(tables.table) > most) return std::nullopt;
    }
    const formats::Scaled about = scaled.value_or(formats::Scaled());
    tables.factors.push_back(about.factor);
    tables.zeros.push_back(about.zero);
    tables.unit = about.unit;
    if (!about.halved.empty()) add_halved(tables, about.halved, codec.grouping().size());
  }
  if (tables.table.empty()) tables.table = values_of(codec, neutral);
  const bool one_table = tables.table.size() == std::size_t{1} << codec.bits();
  if (one_table && codec.bits() > 4) shorten(tables, weight, pool);
  return tables;
}

graph::Node table_decode(const Step& decode, const kernels::TensorCodec& codec, int low_bits, float unit) {
  graph::Node node = graph::as_operator(*decode.node, "TableDecode", graph::kAnybit);
  node.attributes.clear();
  const formats::Grouping& grouping = codec.grouping();
  set_attribute(node, "dims", *ops::NodeAttributes(*decode.node).integers("dims"));
  set_attribute(node, "coded", grouping.dims);
  set_attribute(node, "box", grouping.box);
  set_attribute(node, "pack_axis", grouping.pack_axis);
  set_attribute(node, "bits", std::int64_t{codec.bits()});
  if (low_bits > 0) set_attribute(node, "low_bits", std::int64_t{low_bits});
  if (unit != 1) set_attribute(node, "unit", unit);
  return node;
}

// The node's inputs after the codes; an input without a type is left out. The unit is used only where it is
// needed.
Result<std::vector<Array>> inputs_of(Tables& tables, const kernels::TensorCodec& codec, ops::Memory& memory) {
  using enum ElementType;
  const ops::Dims grid{std::span(codec.grouping().grid)};
  std::vector<Array> inputs(4);
  inputs[0] = TRY(array_of(tables.table, {static_cast<std::int64_t>(tables.table.size())}, memory));
  std::optional<Array> few;
  if (tables.unit != 1) few = TRY(in_type(tables.factors, tables.unit, float8e4m3fn, grid, memory));
  if (!few) tables.unit = 1;
  inputs[1] =
      few ? *std::move(few) : TRY(narrowest(tables.factors, {float8e8m0, float16, bfloat16}, grid, memory));
  if (!all_the_same(tables.zeros) || tables.zeros[0] != 0)
    inputs[2] = TRY(narrowest(tables.zeros, {uint8}, grid, memory));
  if (!tables.halved.empty()) {
    inputs[3] = TRY(Array::make(memory, uint8, {static_cast<std::int64_t>(tables.halved.size())}));
    std::ranges::copy(tables.halved, inputs[3].mutable_data<std::uint8_t>());
  }
  return inputs;
}

// Whether the node decodes to exactly these values and is smaller than they are.
bool serves(const graph::Node& node, const Array& codes, const std::vector<Array>& inputs,
            const Array& values) {
  std::vector<const Array*> all{&codes};
  std::size_t bytes = codes.byte_count();
  for (const Array& one : inputs) {
    all.push_back(one.type() == ElementType::undefined ? nullptr : &one);
    if (all.back()) bytes += one.byte_count();
  }
  // A table without groups is stored once for all weights of a format.
  const bool small = bytes < values.byte_count() || inputs[0].count() <= 256;
  Floats made(static_cast<std::size_t>(values.count()));
  return small && ops::table_decode(ops::NodeAttributes(node), all, made.data()).ok() &&
         same_bits(made, values.data<float>());
}

Result<Array> decoded(const ops::StoredWeight& weight, const Resources& resources) {
  Array values = TRY(Array::make(*resources.memory, ElementType::float32, ops::Dims(std::span(weight.dims))));
  weight.codec.decode_packed(weight.codes, weight.parameters, values.mutable_data<float>(), resources.pool);
  return values;
}

// The codes in a separate run of bits each; empty if they are stored so already.
Result<std::optional<Array>> codes_in_bits(const ops::StoredWeight& weight, const Resources& resources) {
  if (weight.codec.packing() == formats::Packing::bits) return std::optional<Array>();
  std::vector<formats::Code16> codes(static_cast<std::size_t>(weight.codec.count()));
  weight.codec.unpack(weight.codes, codes.data(), resources.pool);
  const kernels::TensorCodec codec = weight.codec.in_bits();
  Array made = TRY(Array::make(*resources.memory, ElementType::uint8, {codec.packed_bytes()}));
  codec.pack(codes.data(), made.mutable_data<std::uint8_t>(), resources.pool);
  return std::optional(std::move(made));
}

Result<void> replace(Program& program, Edit& edit, std::size_t step, const ops::StoredWeight& weight,
                     const Resources& resources) {
  const Step& decode = program.steps[step];
  Array values = TRY(decoded(weight, resources));
  auto tables = values.count() > 0 ? tables_of(weight, resources.pool) : std::nullopt;
  if (tables) {
    std::vector<Array> made = TRY(inputs_of(*tables, weight.codec, *resources.memory));
    graph::Node node = table_decode(decode, weight.codec, tables->low_bits, tables->unit);
    auto own = TRY(codes_in_bits(weight, resources));
    if (serves(node, own ? *own : *edit.constant(decode.inputs[0]), made, values)) {
      std::vector<int> inputs{own ? edit.add_constant(*std::move(own)) : decode.inputs[0]};
      for (Array& one : made)
        inputs.push_back(one.type() == ElementType::undefined ? -1 : edit.add_constant(std::move(one)));
      while (inputs.back() < 0) inputs.pop_back();
      return edit.replace(step, std::move(node), std::move(inputs));
    }
  }
  Slot& slot = program.slots[static_cast<std::size_t>(decode.outputs[0])];
  slot.is_constant = true;
  slot.value = std::move(values);
  edit.remove(step);
  return {};
}

Result<void> run(Program& program, const Resources& resources) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& decode = program.steps[i];
    if (!is(decode, "Decode", ops::kAnybit)) continue;
    std::vector<const Array*> stored;
    for (const int slot : decode.inputs) stored.push_back(edit.constant(slot));
    if (stored.empty() || std::ranges::count(stored, nullptr) > 0) continue;
    auto weight = ops::StoredWeight::of(ops::NodeAttributes(*decode.node), nullptr, stored);
    if (!weight.ok()) return std::move(weight).error().within(decode.place);
    TRY(replace(program, edit, i, *weight, resources));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_table_decode_descriptors() {
  static const Descriptor all[] = {{.name = "table_decode",
                                    .order = 3,
                                    .summary = "packed weights become tables, for code generators",
                                    .run = run,
                                    .whom = For::generating}};
  return all;
}

}  // namespace anybit::runtime
