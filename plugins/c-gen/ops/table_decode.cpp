// TableDecode of ai.anybit: packed codes become real numbers.
#include "table_codes.hpp"

namespace anybit::cgen {
namespace {

struct Layout {
  Dims coded, box;
  std::int64_t bits;
  std::size_t axis;  // that rows of codes run along

  std::int64_t row_bytes() const { return (coded[axis] * bits + 7) / 8; }
};

Layout layout_of(const Node& node) {
  Layout layout;
  layout.coded = node.integers("coded").value_or(node.integers("dims").value_or(Dims()));
  layout.box = node.integers("box").value_or(layout.coded);
  layout.bits = node.integer("bits", 0);
  layout.axis = static_cast<std::size_t>(node.integer("pack_axis", 0));
  const bool fits = !layout.coded.empty() && layout.box.size() == layout.coded.size() &&
                    layout.axis < layout.coded.size() && layout.bits >= 1 && layout.bits <= 8;
  if (!fits || !node.constant(0)) node.refuse("codes that are not constant, or whose layout is not told");
  return layout;
}

// Codes that cross bytes are read with the byte behind them: the last one has one, too.
std::string codes_of(Node& node, const Layout& layout) {
  if (8 % layout.bits == 0) return node.packed(0);
  const anybit_value& view = *node.in(0).view;
  std::string bytes(static_cast<const char*>(view.data), view.bytes);
  bytes += '\0';
  return node.array(Element::uint8, bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

// Sums of index · stride; indices are the names of variables.
std::string sum_of(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& one : terms) text += (text.empty() ? "" : " + ") + one;
  return text.empty() ? "0" : text;
}

// The element at these indices (names of variables, one for each axis of `coded`).
std::string element(Node& node, const Layout& layout, const std::vector<std::string>& indices) {
  std::vector<std::string> rows, groups;
  std::int64_t row_stride = 1, group_stride = 1;
  for (std::size_t d = layout.coded.size(); d-- > 0;) {
    if (d != layout.axis) {
      if (layout.coded[d] != 1) rows.push_back(fmt::format("{} * {}", indices[d], row_stride));
      row_stride *= layout.coded[d];
    }
    const std::int64_t grid = (layout.coded[d] + layout.box[d] - 1) / layout.box[d];
    if (grid != 1) groups.push_back(fmt::format("{} / {} * {}", indices[d], layout.box[d], group_stride));
    group_stride *= grid;
  }
  const std::string codes = codes_of(node, layout),
                    bit = fmt::format("{} * {}", indices[layout.axis], layout.bits);
  const std::string byte = fmt::format("({}) * {} + ({} >> 3)", sum_of(rows), layout.row_bytes(), bit);
  const std::string bytes = 8 % layout.bits == 0 ? fmt::format("{}[{}]", codes, byte)
                                                 : fmt::format("({0}[{1}] | {0}[{1} + 1] << 8)", codes, byte);
  const std::string number =
      fmt::format("{}[{} >> ({} & 7) & {}]", node.x(1), bytes, bit, (1 << layout.bits) - 1);
  const std::string group = sum_of(groups);
  const std::string less = node.has(3) ? fmt::format("({} - {}[{}])", number, node.x(3), group) : number;
  return fmt::format("{} * {}[{}]", less, node.x(2), group);
}

void table_decode(Node& node) {
  const Layout layout = layout_of(node);
  std::vector<std::string> indices;
  std::string place = "0";
  for (std::size_t d = 0; d < layout.coded.size(); ++d) {
    indices.push_back(fmt::format("i{}", d));
    node.loop(indices.back(), layout.coded[d]);
    place = d == 0 ? indices[0] : fmt::format("({}) * {} + {}", place, layout.coded[d], indices[d]);
  }
  node.line("{}[{}] = {};", node.y(), place, element(node, layout, indices));
  for (std::size_t d = 0; d < layout.coded.size(); ++d) node.end();
}

}  // namespace

bool emit_table_row(Node& decode) {
  const Layout layout = layout_of(decode);
  if (layout.coded != decode.out().dims) return false;
  decode.loop("j", layout.coded[1]);
  decode.line("to[j] = {};", element(decode, layout, {"r", "j"}));
  decode.end();
  return true;
}

std::span<const Descriptor> table_decode_descriptors() {
  static const Descriptor all[] = {{.op = "TableDecode", .domain = "ai.anybit", .emit = table_decode}};
  return all;
}

}  // namespace anybit::cgen
