// For code generators: a Decode of constants becomes a TableDecode, whose table, factors and zeros say
// everything about the number format. Formats that are not of that kind, and those of more than 8 bits,
// become floats.
#include <algorithm>

#include "ops/coded.hpp"
#include "ops/node_attributes.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

struct Tables {
  Array table, factors, zeros;
  bool has_zeros = false;
};

// The values of all codes in a group with these words.
Result<Array> table_of(const kernels::TensorCodec& codec, formats::ConstWords words, ops::Memory& memory) {
  const std::int64_t count = std::int64_t{1} << codec.bits();
  std::vector<formats::Code16> codes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<formats::Code16>(i);
  Array table = TRY(Array::make(memory, ElementType::float32, {count}));
  codec.codec().decode(codes, words, table.mutable_data<float>());
  return table;
}

// Nothing if the format is neither a table times a factor, nor a table for the whole tensor.
Result<std::optional<Tables>> tables_of(const ops::CodedWeight& weight, ops::Memory& memory) {
  const kernels::TensorCodec& codec = weight.codec;
  if (codec.bits() > 8) return std::optional<Tables>();
  Tables tables;
  const ops::Dims grid{std::span(codec.grouping().grid)};
  tables.factors = TRY(Array::make(memory, ElementType::float32, grid));
  tables.zeros = TRY(Array::make(memory, ElementType::float32, grid));
  const auto words_of = [&](std::int64_t group) {
    return std::span(weight.parameters)
        .subspan(static_cast<std::size_t>(group) * codec.stride(), codec.stride());
  };
  std::vector<std::uint32_t> neutral(codec.stride());
  codec.codec().set_neutral(neutral);
  const bool single = codec.grouping().groups() == 1 && codec.codec().independent();
  for (std::int64_t group = 0; group < codec.grouping().groups(); ++group) {
    const auto scaled = single ? formats::Scaled{} : codec.codec().scaled(words_of(group));
    if (!scaled) return std::optional<Tables>();
    tables.factors.mutable_data<float>()[group] = scaled->factor;
    tables.zeros.mutable_data<float>()[group] = scaled->zero;
    tables.has_zeros = tables.has_zeros || scaled->zero != 0;
  }
  tables.table = TRY(table_of(codec, single ? words_of(0) : formats::ConstWords(neutral), memory));
  return std::optional(std::move(tables));
}

graph::Node table_decode(const Step& decode, const kernels::TensorCodec& codec) {
  graph::Node node = *decode.node;
  node.op_type = graph::Text("TableDecode");
  node.attributes.clear();
  const formats::Grouping& grouping = codec.grouping();
  set_attribute(node, "dims", *ops::NodeAttributes(*decode.node).integers("dims"));
  set_attribute(node, "coded", grouping.dims);
  set_attribute(node, "box", grouping.box);
  set_attribute(node, "pack_axis", grouping.pack_axis);
  set_attribute(node, "bits", std::int64_t{codec.bits()});
  return node;
}

// The output of a Decode becomes a constant.
Result<void> decode_now(Program& program, const Step& decode, const ops::CodedWeight& weight,
                        const Resources& resources) {
  Array values = TRY(Array::make(*resources.memory, ElementType::float32, ops::Dims(std::span(weight.dims))));
  weight.codec.decode_packed(weight.codes, weight.parameters, values.mutable_data<float>(), resources.pool);
  Slot& slot = program.slots[static_cast<std::size_t>(decode.outputs[0])];
  slot.is_constant = true;
  slot.value = std::move(values);
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
    auto weight = ops::CodedWeight::of(ops::NodeAttributes(*decode.node), nullptr, stored);
    if (!weight.ok()) return std::move(weight).error().within(decode.place);
    auto tables = TRY(tables_of(*weight, *resources.memory));
    if (!tables) {
      TRY(decode_now(program, decode, *weight, resources));
      edit.remove(i);
      continue;
    }
    std::vector<int> inputs{decode.inputs[0], edit.add_constant(std::move(tables->table)),
                            edit.add_constant(std::move(tables->factors))};
    if (tables->has_zeros) inputs.push_back(edit.add_constant(std::move(tables->zeros)));
    TRY(edit.replace(i, table_decode(decode, weight->codec), std::move(inputs)));
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
