#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "view.hpp"

namespace anybit::verilog {
namespace {

// Words of Verilog-2005 and SystemVerilog that a module cannot be called, of those that are likely.
constexpr std::array kReserved = {
    "always",   "and",       "assign",   "automatic", "begin",    "bit",       "buf",        "byte",
    "case",     "cell",      "class",    "clock",     "config",   "const",     "default",    "design",
    "disable",  "do",        "edge",     "else",      "end",      "endmodule", "enum",       "event",
    "final",    "for",       "force",    "forever",   "fork",     "function",  "generate",   "genvar",
    "if",       "import",    "include",  "initial",   "inout",    "input",     "instance",   "int",
    "integer",  "interface", "join",     "large",     "library",  "local",     "localparam", "logic",
    "longint",  "medium",    "modport",  "module",    "nand",     "negedge",   "new",        "nor",
    "not",      "null",      "or",       "output",    "package",  "parameter", "posedge",    "primitive",
    "priority", "program",   "property", "protected", "pure",     "rand",      "real",       "reg",
    "release",  "repeat",    "return",   "scalared",  "sequence", "shortint",  "signed",     "small",
    "specify",  "static",    "string",   "strong0",   "struct",   "super",     "supply0",    "table",
    "tagged",   "task",      "this",     "time",      "tran",     "tri",       "type",       "typedef",
    "union",    "unique",    "unsigned", "use",       "var",      "vectored",  "virtual",    "void",
    "wait",     "wand",      "weak0",    "while",     "wire",     "with",      "wor",        "xnor",
    "xor"};

std::string verilog_name(const std::string& stem) {
  std::string name;
  for (const char one : stem) name += std::isalnum(static_cast<unsigned char>(one)) != 0 ? one : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "m" + name;
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += "_model";
  return name;
}

int number(const std::string& setting, const std::string& text, int most) {
  int value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    throw Refusal(fmt::format("verilog-gen: {} is '{}', not a number from 0 to {}", setting, text, most));
  return value;
}

}  // namespace

Settings settings_of(const anybit_codegen_options& options, const std::string& stem) {
  constexpr int kMostRegisters = 1000, kMostVectors = 1000000;
  Settings settings;
  settings.name = verilog_name(stem);
  for (std::size_t i = 0; i < options.setting_count; ++i) {
    const std::string setting = options.setting_names[i], text = options.setting_texts[i];
    if (setting == "name") {
      if (text.empty() || text != verilog_name(text))
        throw Refusal(fmt::format("verilog-gen: '{}' is not a name for a Verilog module", text));
      settings.name = text;
    } else if (setting == "registers") {
      settings.registers = number(setting, text, kMostRegisters);
    } else if (setting == "vectors") {
      settings.vectors = number(setting, text, kMostVectors);
    } else if (setting == "samples") {
      settings.samples = text;
    } else {
      throw Refusal(
          fmt::format("verilog-gen has no setting '{}', only name, registers, vectors and samples", setting));
    }
  }
  return settings;
}

}  // namespace anybit::verilog
