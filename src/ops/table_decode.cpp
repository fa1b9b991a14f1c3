// TableDecode of ai.anybit: packed codes whose values are in a table, with a factor and a zero for each box
// of the tensor: what a Decode of constants is for code generators, which need not know our number formats.
// docs/codegen.md has the definition.
#include "base/checked.hpp"
#include "kernels/packing.hpp"
#include "ops/coded.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using Integers = std::vector<std::int64_t>;

struct Layout {
  Integers dims, coded, box, grid;
  std::size_t axis = 0;  // that rows of codes run along
  int bits = 0;
  std::int64_t count = 1;

  std::int64_t row() const { return coded.empty() ? 1 : coded[axis]; }
  // Elements from one code of a row to the next.
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
  // The box that an element lies in.
  std::int64_t group_of(std::int64_t element) const {
    std::int64_t group = 0, stride = 1;
    for (std::size_t d = coded.size(); d-- > 0;) {
      group += element % coded[d] / box[d] * stride;
      element /= coded[d];
      stride *= grid[d];
    }
    return group;
  }
};

Result<Layout> layout_of(const Attributes& node) {
  Layout layout;
  layout.dims = node.integers("dims").value_or(Integers());
  layout.coded = node.integers("coded").value_or(layout.dims);
  layout.box = node.integers("box").value_or(layout.coded);
  layout.bits = static_cast<int>(node.integer("bits", 0));
  layout.axis = static_cast<std::size_t>(node.integer("pack_axis", 0));
  if (layout.bits < 1 || layout.bits > 8) return wrong(fmt::format("bits is {}", layout.bits), "1 to 8");
  if (layout.box.size() != layout.coded.size() ||
      (!layout.coded.empty() && layout.axis >= layout.coded.size()))
    return wrong("box and pack_axis do not fit coded");
  std::int64_t count = 1;
  for (const std::int64_t dim : layout.dims) {
    const auto product = dim >= 0 ? checked_mul(count, dim) : std::nullopt;
    if (!product) return wrong(fmt::format("dims [{}]", fmt::join(layout.dims, ", ")));
    count = *product;
  }
  for (std::size_t d = 0; d < layout.coded.size(); ++d) {
    const auto product = layout.coded[d] >= 0 ? checked_mul(layout.count, layout.coded[d]) : std::nullopt;
    if (!product || layout.box[d] < 1) return wrong("coded and box have no such sizes");
    layout.count = *product;
    layout.grid.push_back((layout.coded[d] + layout.box[d] - 1) / layout.box[d]);
  }
  if (layout.count != count) return wrong("coded has another number of elements than dims");
  return layout;
}

Result<Values> infer(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return unknown_outputs(call);
  return outputs_of(call, tensor(ElementType::float32, Shape(dims->begin(), dims->end())));
}

Result<void> run(Frame& frame) {
  const Layout layout = TRY(layout_of(frame));
  const Array &codes = frame.in(0), &table = frame.in(1), &factors = frame.in(2);
  const float* zeros = frame.has(3) ? frame.in(3).data<float>() : nullptr;
  const auto bytes =
      static_cast<std::int64_t>(kernels::packed_size(static_cast<std::size_t>(layout.row()), layout.bits));
  const std::int64_t rows = layout.count == 0 ? 0 : layout.count / layout.row();
  const bool fits =
      codes.type() == ElementType::uint8 && codes.count() == rows * bytes &&
      table.type() == ElementType::float32 && table.count() == std::int64_t{1} << layout.bits &&
      factors.type() == ElementType::float32 && factors.count() == layout.groups() &&
      (!zeros || (frame.in(3).type() == ElementType::float32 && frame.in(3).count() == layout.groups()));
  if (!fits) return wrong("the inputs do not fit the attributes");
  Array& out = *TRY(frame.out(0, ElementType::float32, Dims(std::span(layout.dims))));
  const std::int64_t step = layout.step();
  std::vector<std::uint8_t> row(static_cast<std::size_t>(layout.row()));
  for (std::int64_t r = 0; r < rows; ++r) {
    kernels::unpack(codes.data<std::uint8_t>() + r * bytes, row.size(), layout.bits, row.data());
    for (std::int64_t i = 0; i < layout.row(); ++i) {
      const std::int64_t element = (r / step * layout.row() + i) * step + r % step;
      const std::int64_t group = layout.group_of(element);
      const float value = table.data<float>()[row[static_cast<std::size_t>(i)]];
      out.mutable_data<float>()[element] =
          (value - (zeros ? zeros[group] : 0.0F)) * factors.data<float>()[group];
    }
  }
  return {};
}

}  // namespace

std::span<const Descriptor> table_decode_descriptors() {
  static const Descriptor all[] = {
      {.name = "TableDecode", .domain = kAnybit, .since = {1}, .infer = infer, .run = run, .required = 3}};
  return all;
}

}  // namespace anybit::ops
