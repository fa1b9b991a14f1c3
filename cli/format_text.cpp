#include "format_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "format_colors.hpp"
#include "format_example.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;

std::string range_text(const FormatInfo& f) {
  if (f.lowest == -f.largest) return "±" + number_text(f.largest);
  return number_text(f.lowest) + " … " + number_text(f.largest);
}

std::string specials_text(const FormatInfo& f) {
  std::vector<std::string_view> list;
  if (f.zero) list.emplace_back(f.negative_zero ? "±0" : "0");
  if (f.infinity) list.emplace_back("Inf");
  if (f.nan) list.emplace_back("NaN");
  return fmt::format("{}", fmt::join(list, " "));
}

std::string group_text(const FormatInfo& f) {
  if (f.granularity == Granularity::element) return "";
  if (f.granularity == Granularity::block) return fmt::format("block of {}", f.block_size);
  return std::string(name_of(f.granularity));
}

// "int" of "int16": the name without the number at its end.
std::string stem(const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); }

std::string between(const std::string& first, const std::string& last) {
  return first == last ? first : first + " … " + last;
}

// "signed integers" of "16-bit signed integers".
std::string without_width(const FormatInfo& f) {
  const std::string width = fmt::format("{}-bit ", f.bits);
  return f.summary.starts_with(width) ? f.summary.substr(width.size()) : f.summary;
}

void add_row(Table& table, const FormatInfo& f) {
  table.add({f.name, fmt::format("{:g}", f.bits_per_value), range_text(f), number_text(f.smallest),
             specials_text(f), group_text(f), f.summary},
            {format_color(f.name)});
}

void add_row(Table& table, const FormatInfo& narrow, const FormatInfo& wide) {
  table.add({between(narrow.name, wide.name),
             between(fmt::format("{:g}", narrow.bits_per_value), fmt::format("{:g}", wide.bits_per_value)),
             range_text(narrow) + " to " + range_text(wide), number_text(wide.smallest), specials_text(wide),
             group_text(wide), without_width(wide)});
}

std::string family_text(const std::vector<const FormatInfo*>& family) {
  Table table(
      {{"format"}, {"bits", Align::right}, {"range"}, {"smallest"}, {"special"}, {"shared over"}, {""}});
  std::map<std::string, std::vector<const FormatInfo*>> widths;
  for (const FormatInfo* f : family) widths[f->name == stem(f->name) ? f->name : stem(f->name)].push_back(f);
  for (auto& [name, list] : widths) {
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->bits < b->bits; });
    if (list.size() > 3) {
      add_row(table, *list.front(), *list.back());
    } else {
      for (const FormatInfo* f : list) add_row(table, *f);
    }
  }
  return table.text();
}

std::string facts_text(const FormatInfo& f) {
  Table table({{""}, {""}});
  table.add({"Family", f.family});
  std::string bits = fmt::format("{} per code", f.bits);
  if (f.block_size > 0)
    bits += fmt::format(", {:g} per value with the shared fields of a block of {}", f.bits_per_value,
                        f.block_size);
  else if (f.bits_per_value != f.bits)
    bits += fmt::format(", {:g} packed", f.bits_per_value);
  table.add({"Bits", bits});
  table.add({"Range", range_text(f)});
  table.add({"Smallest", number_text(f.smallest)});
  table.add({"Special", specials_text(f).empty() ? "finite numbers only, no zero" : specials_text(f)});
  for (const FormatField& field : f.fields) {
    const std::string where = field.per_tensor ? "tensor" : f.block_size > 0 ? group_text(f) : "group";
    table.add(
        {"Shared", fmt::format("{} ({}{}) per {}", field.name,
                               field.count > 1 ? fmt::format("{} × ", field.count) : "", field.type, where)});
  }
  return table.text();
}

// Draws the bit fields of a code as boxes, most significant bit first.
std::string layout_text(const FormatInfo& f) {
  std::string numbers, top, middle, bottom;
  int bit = f.bits;
  const auto line = [](std::size_t width) {
    std::string text;
    for (std::size_t i = 0; i < width; ++i) text += "─";
    return text;
  };
  std::string_view rest = f.layout;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    top += (top.empty() ? "┌" : "┬") + line(3 * part.size() + 1);
    bottom += (bottom.empty() ? "└" : "┴") + line(3 * part.size() + 1);
    numbers += " ";
    middle += "│";
    for (const char c : part) {
      numbers += fmt::format("{:>3}", --bit);
      middle += fmt::format("{:>3}", c);
    }
    numbers += " ";
    middle += " ";
  }
  if (bit != 0) return fmt::format("  {}\n", f.layout);
  return fmt::format("  {}\n  {}┐\n  {}│\n  {}┘\n", numbers, top, middle, bottom);
}

std::string allowed_text(const FormatParameter& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, ", "));
  if (std::holds_alternative<bool>(p.preset)) return "true, false";
  if (std::holds_alternative<std::string>(p.preset)) return "";
  if (std::isinf(p.low) && std::isinf(p.high)) return "";
  return fmt::format("{:g} … {:g}", p.low, p.high);
}

std::string parameters_text(const FormatInfo& f) {
  Table table({{"parameter"}, {"default"}, {"allowed"}, {""}});
  for (const FormatParameter& p : f.parameters)
    table.add({p.name, value_text(p.preset), allowed_text(p), p.doc});
  return table.text();
}

std::string example_text(const FormatInfo& f, const FormatExample& example) {
  std::vector<Table::Column> columns(example.numbers.size() + 1, {"", Align::right});
  columns[0].align = Align::left;
  Table table(columns);
  std::vector<std::string> rows[] = {{"number"}, {"code"}, {"value"}, {"error"}};
  for (std::size_t i = 0; i < example.numbers.size(); ++i) {
    rows[0].push_back(fmt::format("{:g}", example.numbers[i]));
    rows[1].push_back(code_text(example.codes[i], f.bits));
    rows[2].push_back(fmt::format("{:.5g}", example.values[i]));
    rows[3].push_back(fmt::format("{:.3g}", static_cast<double>(example.values[i]) - example.numbers[i]));
  }
  for (auto& row : rows) table.add(std::move(row));
  std::string text = table.text();
  for (const StoredField& field : example.shared) {
    text += fmt::format("  with {} {:g}\n", field.name, fmt::join(numbers_of(field), ", "));
  }
  return text;
}

std::string values_text(const FormatInfo& f, const FormatExample& example) {
  if (example.all_values.empty()) return "";
  Table table({{"code"}, {"value", Align::right}, {"  code"}, {"value", Align::right}});
  const std::size_t half = (example.all_values.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const auto cell = [&](std::size_t code) { return code_text(static_cast<std::uint16_t>(code), f.bits); };
    const auto value = [&](std::size_t code) { return fmt::format("{:.5g}", example.all_values[code]); };
    table.add({cell(i), value(i), "  " + cell(half + i), value(half + i)});
  }
  return table.text();
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n{}\n{}", styled(title, Style::bold), body);
}

}  // namespace

std::string number_text(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const bool far = std::fabs(x) < 0x1p-8 || std::fabs(x) > 0x1p16;  // six digits would not be exact
  if (fraction == 0.5 && far) return fmt::format("{}2^{}", x < 0 ? "-" : "", exponent - 1);
  return fmt::format("{:.6g}", x);
}

std::string value_text(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:g}", *real);
  return std::get<std::string>(value);
}

std::string to_text(const std::vector<FormatInfo>& formats) {
  std::map<std::string, std::vector<const FormatInfo*>> families;
  for (const FormatInfo& f : formats) families[f.family].push_back(&f);
  std::string text = fmt::format(
      "{} formats. Bits: per value, including the fields that a block shares. Range and smallest: at "
      "scale 1, or\n"
      "over all scales if the format has its own. 'anybit formats NAME' describes one.\n",
      formats.size());
  for (const auto& [name, family] : families) text += section(name, family_text(family));
  return text;
}

Result<std::string> to_text(const FormatInfo& f, const ParameterValues& parameters) {
  const auto example = example_of(f, parameters);
  if (!example.ok()) return example.error();
  std::string text = fmt::format("{}  {}\n\n{}", styled(f.name, Style::bold), f.summary, facts_text(f));
  text += section("Layout", layout_text(f));
  text += section("Parameters", parameters_text(f));
  text += section("Example", example_text(f, *example));
  text +=
      section(example->shared.empty() ? "All values" : "All values, with the shared fields of the example",
              values_text(f, *example));
  return text;
}

}  // namespace anybit::cli
