// TableDecode of ai.anybit: dequantization by lookup table, with factor and zero point per box of the tensor.
// Code generation replaces Decode of constants by it, so that generators need not know anybit's number
// formats. Definition: docs/codegen.md.
#include "ops/quantized/table_decode.hpp"

#include "base/checked.hpp"
#include "kernels/codec/packing.hpp"
#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

// Larger than any memory, yet counts of bits and bytes cannot overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

struct CodeLayout {
  Integers dims, coded, box, grid;
  std::size_t axis = 0;  // axis along which the packed rows run
  int bits = 0, low_bits = 0;
  std::int64_t count = 1;

  std::int64_t row() const { return coded.empty() ? 1 : coded[axis]; }
  // Stride in elements between neighbours of a packed row.
  std::int64_t step() const {
    std::int64_t step = 1;
    for (std::size_t d = axis + 1; d < coded.size(); ++d) step *= coded[d];
    return step;
  }
  std::int64_t groups() const {
    std::int64_t groups = 1;
    for (const std::int64_t one : grid) groups *= one;
    return groups;
  }
  // Bytes per group of the bitmap of pairs whose factor is halved (shared microexponents).
  std::int64_t pair_bytes() const {
    std::int64_t size = 1;
    for (std::size_t d = 0; count > 0 && d < coded.size(); ++d) size *= std::min(box[d], coded[d]);
    return (size + 15) / 16;
  }
  // Number of entries of one table.
  std::int64_t table_size() const {
    return low_bits == 0 ? std::int64_t{1} << bits : std::int64_t{2} << (bits - low_bits);
  }

  struct Place {
    std::int64_t group, within;  // box of an element, and its row-major index there
  };
  Place place_of(std::int64_t element) const {
    Place place{0, 0};
    std::int64_t stride = 1, size = 1;
    for (std::size_t d = coded.size(); d-- > 0;) {
      const std::int64_t i = element % coded[d], first = i / box[d] * box[d];
      place.group += i / box[d] * stride;
      place.within += (i - first) * size;
      element /= coded[d];
      stride *= grid[d];
      size *= std::min(box[d], coded[d] - first);
    }
    return place;
  }
};

Result<CodeLayout> layout_of(const Attributes& node) {
  CodeLayout layout;
  layout.dims = node.integers("dims").value_or(Integers());
  layout.coded = node.integers("coded").value_or(layout.dims);
  layout.box = node.integers("box").value_or(layout.coded);
  const std::int64_t bits = node.integer("bits", 0), low_bits = node.integer("low_bits", 0);
  const std::int64_t axis = node.integer("pack_axis", 0);
  if (bits < 1 || bits > 16) return wrong(fmt::format("bits is {}", bits), "1 to 16");
  if (low_bits < 0 || low_bits > bits) return wrong(fmt::format("low_bits is {}", low_bits), "0 to bits");
  layout.bits = static_cast<int>(bits);
  layout.low_bits = static_cast<int>(low_bits);
  if (layout.box.size() != layout.coded.size() || axis < 0 ||
      (!layout.coded.empty() && axis >= std::ssize(layout.coded)))
    return wrong("box or pack_axis does not match coded");
  layout.axis = static_cast<std::size_t>(axis);
  std::int64_t count = 1;
  for (const std::int64_t dim : layout.dims) {
    const auto product = dim >= 0 ? checked_mul(count, dim) : std::nullopt;
    if (!product) return wrong(fmt::format("dims [{}]", fmt::join(layout.dims, ", ")));
    count = *product;
  }
  for (std::size_t d = 0; d < layout.coded.size(); ++d) {
    const auto product = layout.coded[d] >= 0 ? checked_mul(layout.count, layout.coded[d]) : std::nullopt;
    if (!product || layout.box[d] < 1) return wrong("a size in coded or box is out of range");
    layout.count = *product;
    layout.grid.push_back(layout.coded[d] / layout.box[d] + (layout.coded[d] % layout.box[d] != 0));
  }
  if (count > kMostElements) return wrong(fmt::format("{} elements", count));
  if (layout.count != count) return wrong("coded and dims have different numbers of elements");
  return layout;
}

// One number per group, or one for all.
struct Shared {
  Floats numbers;
  float of(std::int64_t group) const {
    return numbers.size() == 1 ? numbers[0] : numbers[static_cast<std::size_t>(group)];
  }
};

Result<Shared> shared(const Array& array, const CodeLayout& layout) {
  Shared result{Floats(static_cast<std::size_t>(array.count()))};
  const bool fits = (array.count() == 1 || array.count() == layout.groups()) &&
                    convert(array.type(), array.bytes(), ElementType::float32,
                            reinterpret_cast<std::byte*>(result.numbers.data()), array.count());
  if (!fits) return wrong(fmt::format("{} for {} groups", to_string(array), layout.groups()));
  return result;
}

struct Tables {
  CodeLayout layout;
  const std::uint8_t* codes;
  const float* table;
  bool own_tables;  // one table per group
  Shared factors, zeros;
  const std::uint8_t* halved;

  float value(std::int64_t group, std::uint32_t code) const {
    const float* from = table + (own_tables ? group * layout.table_size() : 0);
    if (layout.low_bits == 0) return from[code];
    const std::uint32_t line = code >> layout.low_bits, low = code & ((1u << layout.low_bits) - 1);
    return from[2 * line] + static_cast<float>(low) * from[2 * line + 1];
  }
  float element(std::int64_t index, std::uint32_t code) const {
    const auto [group, within] = layout.place_of(index);
    float factor = factors.of(group);
    if (halved && (halved[group * layout.pair_bytes() + within / 16] >> (within / 2 % 8) & 1) != 0)
      factor /= 2;
    return (value(group, code) - zeros.of(group)) * factor;
  }
  void decode(float* out) const {
    if (layout.count == 0) return;
    const std::int64_t step = layout.step(), length = layout.row();
    const std::size_t bytes = kernels::packed_size(static_cast<std::size_t>(length), layout.bits);
    std::vector<std::uint16_t> row(static_cast<std::size_t>(length));
    for (std::int64_t r = 0; r < layout.count / length; ++r) {
      kernels::unpack(codes + static_cast<std::size_t>(r) * bytes, row.size(), layout.bits, row.data());
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t index = (r / step * length + i) * step + r % step;
        out[index] = element(index, row[static_cast<std::size_t>(i)]);
      }
    }
  }
};

Result<Tables> tables_of(const Attributes& node, std::span<const Array* const> inputs) {
  const auto in = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  Tables made{TRY(layout_of(node)), nullptr, nullptr, false, {}, {Floats{0}}, nullptr};
  const CodeLayout& layout = made.layout;
  if (!in(0) || !in(1) || !in(2)) return wrong("inputs 0 to 2 (codes, table, factors) are required");
  const auto bytes =
      static_cast<std::int64_t>(kernels::packed_size(static_cast<std::size_t>(layout.row()), layout.bits));
  const std::int64_t rows = layout.count == 0 ? 0 : layout.count / layout.row();
  const std::int64_t numbers = in(1)->count(), one = layout.table_size();
  made.own_tables = numbers != one;
  const bool fits =
      in(0)->type() == ElementType::uint8 && in(0)->count() == rows * bytes &&
      in(1)->type() == ElementType::float32 &&
      (!made.own_tables || (numbers % one == 0 && numbers / one == layout.groups())) &&
      (!in(4) || (in(4)->type() == ElementType::uint8 && in(4)->count() % layout.pair_bytes() == 0 &&
                  in(4)->count() / layout.pair_bytes() == layout.groups()));
  if (!fits) return wrong("the inputs do not match the attributes");
  for (const Array* one : inputs) {
    if (one && !has_elements(*one)) return not_known();
  }
  made.codes = in(0)->data<std::uint8_t>();
  made.table = in(1)->data<float>();
  made.factors = TRY(shared(*in(2), layout));
  const auto unit = static_cast<float>(node.real("unit", 1));
  for (float& factor : made.factors.numbers) factor *= unit;
  if (in(3)) made.zeros = TRY(shared(*in(3), layout));
  if (in(4)) made.halved = in(4)->data<std::uint8_t>();
  return made;
}

Result<Values> infer(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return unknown_outputs(call);
  return outputs_of(call, tensor(ElementType::float32, Shape(dims->begin(), dims->end())));
}

Result<void> run(Frame& frame) {
  std::vector<const Array*> inputs;
  for (std::size_t i = 0; i < frame.input_count(); ++i)
    inputs.push_back(frame.has(i) ? &frame.in(i) : nullptr);
  const Tables tables = TRY(tables_of(frame, inputs));
  Array& out = *TRY(frame.out(0, ElementType::float32, Dims(std::span(tables.layout.dims))));
  tables.decode(out.mutable_data<float>());
  return {};
}

}  // namespace

Result<void> table_decode(const Attributes& node, std::span<const Array* const> inputs, float* out) {
  TRY(tables_of(node, inputs)).decode(out);
  return {};
}
std::span<const Descriptor> table_decode_descriptors() {
  static const Descriptor all[] = {
      {.name = "TableDecode", .domain = kAnybit, .since = {1}, .infer = infer, .run = run, .required = 3}};
  return all;
}

}  // namespace anybit::ops
