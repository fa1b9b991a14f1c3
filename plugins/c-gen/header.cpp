// The header: entries, sizes, and what the numbers at the ports mean.
#include <cctype>

#include "files.hpp"

namespace anybit::cgen {
namespace {

std::string shape(const Value& value) {
  std::string text;
  for (const std::int64_t dim : value.dims) text += fmt::format("[{}]", dim);
  return text;
}

std::string parameters(const Unit& unit, bool quantized) {
  std::string text;
  const auto add = [&](const Port& port, std::string_view qualifier) {
    const Value& value = quantized && port.quantized ? *port.quantized : *port.value;
    text += fmt::format("{}{}{} *{}", text.empty() ? "" : ", ", qualifier, value.c(), port.name);
  };
  for (const Port& port : unit.inputs()) add(port, "const ");
  for (const Port& port : unit.outputs()) add(port, "");
  return text.empty() ? "void" : text;
}

std::string describe(const Unit& unit) {
  std::string text;
  for (const auto* ports : {&unit.inputs(), &unit.outputs()}) {
    for (const Port& port : *ports)
      text += fmt::format(" *   {:<5} {} {}, '{}'\n", port.name, port.value->info().name, shape(*port.value),
                          comment_text(port.value->name));
  }
  return text;
}

// What the entries return, if there is anything to tell.
std::string describe_result(const Unit& unit) {
  if (unit.failures().empty()) return "";
  std::string text =
      " * Returns 0; or 1 if the inputs choose a branch that cannot run with these shapes: what is in the\n"
      " * outputs then means nothing. Such branches are those with\n";
  for (const std::string& one : unit.failures()) text += fmt::format(" *   {}\n", comment_text(one));
  return text;
}

std::string macros(const Unit& unit) {
  const std::string prefix = upper(unit.name());
  std::string text = fmt::format("#define {}_ARENA_BYTES {}\n#define {}_CONSTANT_BYTES {}\n", prefix,
                                 unit.arena_bytes(), prefix, unit.constant_bytes());
  for (const auto* ports : {&unit.inputs(), &unit.outputs()}) {
    for (const Port& port : *ports) {
      const std::string name = fmt::format("{}_{}", prefix, upper(port.name));
      text += fmt::format("#define {}_COUNT {}\n", name, port.value->count());
      if (port.scale == 0) continue;
      text += fmt::format("#define {}_SCALE {}\n#define {}_ZERO_POINT {}\n", name, literal(port.scale), name,
                          literal(port.zero_point));
    }
  }
  return text;
}

}  // namespace

std::string upper(std::string_view name) {
  std::string result;
  for (const char one : name) result += static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
  return result;
}

std::string entry(const Unit& unit, bool quantized) {
  return fmt::format("{} {}_run{}({})", unit.failures().empty() ? "void" : "int", unit.name(),
                     quantized ? "_quantized" : "", parameters(unit, quantized));
}

std::string header_of(const Unit& unit) {
  const std::string guard = upper(unit.name()) + "_H";
  std::string text = fmt::format(
      "/* Made by anybit's c-gen from the model '{}'.\n"
      " *\n"
      " * All memory is static: {}_ARENA_BYTES that change, {}_CONSTANT_BYTES that do not. So a run must "
      "have ended\n"
      " * before the next begins. Compile with -std=c99, or -ffp-contract=off, for the bits that anybit "
      "computes.\n"
      " * Arrays, row by row; they must not overlap:\n"
      "{}{} */\n"
      "#ifndef {}\n#define {}\n\n#include <stdint.h>\n\n"
      "{}\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      comment_text(unit.view().name), upper(unit.name()), upper(unit.name()), describe(unit),
      describe_result(unit), guard, guard, macros(unit));
  text += entry(unit, false) + ";\n";
  if (unit.has_quantized_entry()) {
    text += fmt::format(
        "\n/* The same on integers: real value = (element - {0}_<P>_ZERO_POINT) * {0}_<P>_SCALE, <P> being "
        "the\n"
        " * parameter in capitals. */\n",
        upper(unit.name()));
    text += entry(unit, true) + ";\n";
  }
  return text + "\n#ifdef __cplusplus\n}  /* extern \"C\" */\n#endif\n\n#endif\n";
}

}  // namespace anybit::cgen
