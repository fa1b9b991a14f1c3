// Sums of many bits: columns of equal weight shrink by 6:3 compressors and full adders until each has two
// bits; a single addition is left.
#include <algorithm>
#include <bit>

#include "diagram.hpp"
#include "parts.hpp"

namespace anybit::verilog {
namespace {

using Columns = std::vector<std::vector<std::string>>;

// The count of six bits as diagrams of six signals.
void write_compressor(Text& out, const std::string& name) {
  open_module(out, name, 6, 3, false);
  Diagrams diagrams;
  std::vector<Diagrams::Ref> roots;
  for (int bit = 0; bit < 3; ++bit) {
    Table table;
    for (unsigned a = 0; a < 64; ++a) table += (std::popcount(a) >> bit & 1) != 0 ? '1' : '0';
    roots.push_back(diagrams.add_in_order(table, {0, 1, 2, 3, 4, 5}));
  }
  for (std::size_t i = 0; i < diagrams.decisions().size(); ++i) {
    const auto& one = diagrams.decisions()[i];
    out.line("wire n{} = {};", i, diagrams.expression(one, fmt::format("x[{}]", one.signal)));
  }
  for (std::size_t i = 0; i < roots.size(); ++i) out.line("assign r[{}] = {};", i, Diagrams::name(roots[i]));
  close_module(out, false);
}

class Shrinking {
 public:
  Shrinking(Text& out, const std::string& compressor) : out_(out), compressor_(compressor) {}

  // One level: columns of at most `most` bits of the number count.
  Columns level(const Columns& columns, std::size_t most) {
    Columns next(most);
    const auto put = [&](std::size_t column, std::string bit) {
      if (column < most) next[column].push_back(std::move(bit));
    };
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& bits = columns[c];
      std::size_t i = 0;
      for (; bits.size() - i >= 6; i += 6) {
        out_.line("wire [2:0] c{};", wires_);
        out_.line("{} i{}({{{}, {}, {}, {}, {}, {}}}, c{});", compressor_, wires_, bits[i + 5], bits[i + 4],
                  bits[i + 3], bits[i + 2], bits[i + 1], bits[i], wires_);
        for (std::size_t k = 0; k < 3; ++k) put(c + k, fmt::format("c{}[{}]", wires_, k));
        ++wires_;
      }
      if (bits.size() - i >= 3) {
        const std::string &x = bits[i], &y = bits[i + 1], &z = bits[i + 2];
        out_.line("wire [1:0] c{0} = {{{1} & {2} | {3} & ({1} | {2}), {1} ^ {2} ^ {3}}};", wires_, x, y, z);
        for (std::size_t k = 0; k < 2; ++k) put(c + k, fmt::format("c{}[{}]", wires_, k));
        ++wires_;
        i += 3;
      }
      for (; i < bits.size(); ++i) put(c, bits[i]);
    }
    return next;
  }

 private:
  Text& out_;
  const std::string& compressor_;
  int wires_ = 0;
};

// The bits of a row of the columns as one number.
std::string row_of(const Columns& columns, std::size_t row) {
  std::string text;
  for (auto column = columns.rbegin(); column != columns.rend(); ++column)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", row < column->size() ? (*column)[row] : "1'b0");
  return fmt::format("{{{}}}", text);
}

void write_one_sum(Text& out, const std::string& name, const std::string& compressor, int bits,
                   std::int64_t group, int sum_bits) {
  open_module(out, name, group * bits, sum_bits, false);
  const auto most = static_cast<std::size_t>(sum_bits);
  Columns columns(most);
  for (std::int64_t i = 0; i < group; ++i) {
    for (int bit = 0; bit < bits; ++bit)
      columns[static_cast<std::size_t>(bit)].push_back(fmt::format("x[{}]", i * bits + bit));
  }
  Shrinking shrinking(out, compressor);
  while (std::ranges::any_of(columns, [](const auto& one) { return one.size() > 2; }))
    columns = shrinking.level(columns, most);
  out.line("assign r = {} + {};", row_of(columns, 0), row_of(columns, 1));
  close_module(out, false);
}

}  // namespace

void write_sums(Text& out, const std::string& name, const Bus& input, std::int64_t group, const Bus& output,
                bool registered) {
  const std::string compressor = name + "_63", one = name + "_one";
  out.line("// the number of bits that are 1, of six");
  write_compressor(out, compressor);
  out.line("// the sum of {} elements of {} bits", group, input.bits);
  write_one_sum(out, one, compressor, input.bits, group, output.bits);
  open_module(out, name, input.count * input.bits, output.count * output.bits, registered);
  for (std::int64_t i = 0; i < output.count; ++i)
    out.line("{} i{}(x[{}:{}], r[{}:{}]);", one, i, (i + 1) * group * input.bits - 1, i * group * input.bits,
             (i + 1) * output.bits - 1, i * output.bits);
  close_module(out, registered);
}

}  // namespace anybit::verilog
