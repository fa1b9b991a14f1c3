// TableDecode of ai.anybit: decodes packed codes to float.
#include <numeric>

#include "constants.hpp"
#include "numbers.hpp"
#include "table_codes.hpp"

namespace anybit::cgen {
namespace {

enum Input : std::size_t { kCodes, kTable, kFactors, kZeros, kHalved };

struct CodeLayout {
  Dims coded, box;
  std::int64_t bits, low_bits;
  std::size_t axis;  // the axis of packed rows

  std::int64_t row_bytes() const { return (coded[axis] * bits + 7) / 8; }
  // The number of bytes that a code may span.
  std::int64_t code_bytes() const { return (8 - std::gcd(bits, std::int64_t{8}) + bits + 7) / 8; }
  std::int64_t table_size() const {
    return low_bits == 0 ? std::int64_t{1} << bits : std::int64_t{2} << (bits - low_bits);
  }
  std::int64_t grid(std::size_t d) const { return (coded[d] + box[d] - 1) / box[d]; }
};

CodeLayout layout_of(const Node& node) {
  CodeLayout layout;
  layout.coded = node.integers("coded").value_or(node.integers("dims").value_or(Dims()));
  layout.box = node.integers("box").value_or(layout.coded);
  layout.bits = node.integer("bits", 0);
  layout.low_bits = node.integer("low_bits", 0);
  layout.axis = static_cast<std::size_t>(node.integer("pack_axis", 0));
  const bool fits = !layout.coded.empty() && layout.box.size() == layout.coded.size() &&
                    layout.axis < layout.coded.size() && layout.bits >= 1 && layout.bits <= 16;
  if (!fits || !node.constant(kCodes)) node.refuse("packed codes that are not constant, or without a layout");
  return layout;
}

// Codes that cross bytes read the next bytes, too; the last code is padded.
std::string codes_of(Node& node, const CodeLayout& layout) {
  if (8 % layout.bits == 0) return node.packed(kCodes);
  const anybit_value& view = *node.in(kCodes).view;
  std::string bytes(static_cast<const char*>(view.data), view.bytes);
  bytes.append(static_cast<std::size_t>(layout.code_bytes() - 1), '\0');
  return node.array(Element::uint8, bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

// Σ index · stride; indices are variable names.
std::string sum_of(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& one : terms) text += (text.empty() ? "" : " + ") + one;
  return text.empty() ? "0" : text;
}

// The code at these indices.
std::string code_at(Node& node, const CodeLayout& layout, const std::vector<std::string>& indices) {
  std::vector<std::string> rows;
  std::int64_t stride = 1;
  for (std::size_t d = layout.coded.size(); d-- > 0;) {
    if (d == layout.axis) continue;
    if (layout.coded[d] != 1) rows.push_back(fmt::format("{} * {}", indices[d], stride));
    stride *= layout.coded[d];
  }
  const std::string codes = codes_of(node, layout),
                    bit = fmt::format("{} * {}", indices[layout.axis], layout.bits);
  const std::string byte = fmt::format("({}) * {} + ({} >> 3)", sum_of(rows), layout.row_bytes(), bit);
  std::string bytes = fmt::format("{}[{}]", codes, byte);
  for (std::int64_t i = 1; i < layout.code_bytes(); ++i)
    bytes += fmt::format(" | {}[{} + {}] << {}", codes, byte, i, 8 * i);
  return fmt::format("({}) >> ({} & 7) & {}", bytes, bit, (1 << layout.bits) - 1);
}

std::string group_at(const CodeLayout& layout, const std::vector<std::string>& indices) {
  std::vector<std::string> groups;
  std::int64_t stride = 1;
  for (std::size_t d = layout.coded.size(); d-- > 0;) {
    if (layout.grid(d) != 1) groups.push_back(fmt::format("{} / {} * {}", indices[d], layout.box[d], stride));
    stride *= layout.grid(d);
  }
  return sum_of(groups);
}

// The row-major index of an element within its group. The last group along an axis may be partial.
std::string number_in_group(const CodeLayout& layout, const std::vector<std::string>& indices) {
  std::vector<std::string> terms;
  std::string size;
  for (std::size_t d = layout.coded.size(); d-- > 0;) {
    const std::int64_t box = layout.box[d], rest = layout.coded[d] % box;
    if (box == 1) continue;
    terms.push_back(fmt::format("{} % {}{}", indices[d], box, size));
    size += rest == 0 ? fmt::format(" * {}", box)
                      : fmt::format(" * ({} < {} ? {} : {})", indices[d], layout.coded[d] - rest, box, rest);
  }
  return sum_of(terms);
}

std::string factor_at(Node& node, const CodeLayout& layout, const std::string& group,
                      const std::vector<std::string>& indices) {
  const Value& factors = node.in(kFactors);
  const std::string place = factors.count() == 1 ? "0" : group;
  const float unit = node.real("unit", 1);
  std::string factor;
  if (factors.type == Element::float8_e4m3fn) {  // a table is faster than conversion
    std::vector<float> all;
    for (std::uint32_t code = 0; code < 256; ++code) all.push_back(real_of(factors.type, code));
    factor = fmt::format("{}[{}[{}]]", node.floats(all), node.x(kFactors), place);
  } else {
    factor = load(node, factors, node.x(kFactors), place);
  }
  if (unit != 1) factor = fmt::format("({} * {})", factor, literal(unit));
  if (!node.has(kHalved)) return factor;
  std::int64_t size = 1;
  for (const std::int64_t one : layout.box) size *= one;
  node.helper("halved", R"(INLINE float halved(const uint8_t *bits, int32_t number) {
  return bits[number >> 4] >> (number >> 1 & 7) & 1 ? 0.5f : 1;
})");
  return fmt::format("(halved({} + ({}) * {}, {}) * {})", node.x(kHalved), group, (size + 15) / 16,
                     number_in_group(layout, indices), factor);
}

// The decoded element at these indices (variable names, one per axis of `coded`).
std::string element(Node& node, const CodeLayout& layout, const std::vector<std::string>& indices) {
  const std::string code = code_at(node, layout, indices), group = group_at(layout, indices);
  std::string table = node.x(kTable);
  if (node.in(kTable).count() != layout.table_size())
    table = fmt::format("({} + ({}) * {})", table, group, layout.table_size());
  std::string number = fmt::format("{}[{}]", table, code);
  if (layout.low_bits > 0) {
    node.helper("on_line", R"(INLINE float on_line(const float *lines, int32_t code, int32_t low_bits) {
  const float *line = lines + (code >> low_bits) * 2;
  return line[0] + (float)(code & ((1 << low_bits) - 1)) * line[1];
})");
    number = fmt::format("on_line({}, {}, {})", table, code, layout.low_bits);
  }
  if (node.has(kZeros)) {
    const Value& zeros = node.in(kZeros);
    number = fmt::format("({} - (float){})", number,
                         load(node, zeros, node.x(kZeros), zeros.count() == 1 ? "0" : group));
  }
  return fmt::format("{} * {}", number, factor_at(node, layout, group, indices));
}

void table_decode(Node& node) {
  const CodeLayout layout = layout_of(node);
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
  const CodeLayout layout = layout_of(decode);
  if (layout.coded != decode.out().dims) return false;
  decode.line("(void)r;");  // unused with a single row
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
