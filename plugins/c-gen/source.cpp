// The C file, and for large models the files that hold its constants.
#include <cctype>
#include <string_view>
#include <unordered_set>

#include "constants.hpp"
#include "files.hpp"

namespace anybit::cgen {
namespace {

constexpr std::size_t kInDataFile = 1024;  // bytes of constants that go there, if there is one
constexpr std::size_t kDataAlignment = 64;

bool large(const ConstantArray& one) { return one.bytes >= kInDataFile; }

// Names in object files are the whole program's.
std::string global_name(const Unit& unit, const ConstantArray& one) { return unit.name() + "_" + one.name; }

std::string constants_of(const Unit& unit) {
  std::string text;
  const bool data_file = has_data_file(unit);
  for (const ConstantArray& one : unit.constants()) {
    if (data_file && large(one)) {
      const std::string name = global_name(unit, one);
      text += fmt::format("extern const {} {}[{}];\n#define {} {}\n\n", info(one.type).c, name, one.count(),
                          one.name, name);
      continue;
    }
    text += fmt::format("/* {} */\nstatic const {} {}[{}] = {{\n", comment_text(one.comment),
                        info(one.type).c, one.name, std::max<std::int64_t>(one.count(), 1));
    text += (one.count() > 0 ? initializer(one.type, one.data, one.count()) : "  0") + "\n};\n\n";
  }
  return text;
}

std::unordered_set<std::string_view> identifiers_in(std::string_view text) {
  const auto continues = [](char one) { return std::isalnum(static_cast<unsigned char>(one)) || one == '_'; };
  std::unordered_set<std::string_view> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t first = at;
    while (at < text.size() && continues(text[at])) ++at;
    if (at > first) found.insert(text.substr(first, at - first));
  }
  return found;
}

// Inputs that decided shapes alone, and outputs without elements, are not touched.
std::string body_of(const Unit& unit, const std::string& text) {
  const auto used = identifiers_in(text);
  std::string unused;
  for (const auto* ports : {&unit.inputs(), &unit.outputs()}) {
    for (const Port& port : *ports) {
      if (!used.contains(port.name)) unused += fmt::format("  (void){};\n", port.name);
    }
  }
  return unused + text;
}

std::string entries_of(const Unit& unit) {
  const bool may_fail = !unit.failures().empty();
  const std::string_view end = may_fail ? "  return 0;\n" : "";
  if (!unit.has_quantized_entry())
    return fmt::format("{} {{\n{}{}}}\n", entry(unit, false),
                       body_of(unit, unit.before() + unit.between(true) + unit.after()), end);
  std::string text =
      fmt::format("{} {{\n{}{}}}\n\n", entry(unit, true), body_of(unit, unit.between(false)), end);
  std::string arguments;
  for (const auto* ports : {&unit.inputs(), &unit.outputs()}) {
    for (const Port& port : *ports)
      arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ",
                               port.quantized ? unit.outer_address(*port.quantized) : port.name);
  }
  const std::string call = fmt::format("{}_run_quantized({})", unit.name(), arguments);
  return text + fmt::format("{} {{\n{}  {};\n{}{}}}\n", entry(unit, false), unit.before(),
                            may_fail ? fmt::format("if ({}) return 1", call) : call, unit.after(), end);
}

}  // namespace

bool has_data_file(const Unit& unit) {
  std::int64_t count = 0;
  for (const ConstantArray& one : unit.constants()) count += one.count();
  return count > kMostAsText;
}

std::string source_of(const Unit& unit, const std::string& stem) {
  std::string text =
      fmt::format("/* Made by anybit's c-gen from the model '{}'; {}.h tells how to use it. */\n",
                  comment_text(unit.view().name), stem);
  if (has_data_file(unit))
    text += fmt::format("/* Its constants are in {0}.S, which includes {0}.bin. */\n", stem);
  text += fmt::format("#include \"{}.h\"\n\n#include <math.h>\n\n", stem);
  // A product and a sum are rounded one by one, also where the compiler's default is another. Loops stay
  // loops, and do not become calls of memset and memcpy, which are not there on every device.
  text +=
      "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#elif defined(__GNUC__)\n"
      "#pragma GCC optimize(\"fp-contract=off\", \"no-tree-loop-distribute-patterns\")\n#endif\n\n";
  // Values of several types follow each other in the arena: a step is compiled without knowing its callers,
  // so that none is taken for independent of the next by its type. gcc 12 also mixes up addresses that it
  // knows
  // (-O2, ipa-cp with ivopts: y[i] = c[i] ? a[i] : b[i] read from neither).
  text +=
      "#if defined(__clang__)\n#define STEP static __attribute__((noinline))\n"
      "#elif defined(__GNUC__) && __GNUC__ >= 8\n#define STEP static __attribute__((noipa))\n"
      "#else\n#define STEP static\n#endif\n\n";
  // Functions that many nodes call: copies of them in each would only take the compiler's time.
  text +=
      "#if defined(__GNUC__)\n#define ALONE __attribute__((noinline, unused))\n"
      "#define INLINE __attribute__((unused)) static inline\n"
      "#define ALIGNED(bytes) __attribute__((aligned(bytes)))\n#else\n#define ALONE\n#define INLINE static "
      "inline\n"
      "#define ALIGNED(bytes)\n"
      "#endif\n\n";
  if (unit.arena_bytes() > 0)
    text += fmt::format(
        "static union {{\n  unsigned char bytes[{}];\n  double real;\n  int64_t whole;\n}} arena "
        "ALIGNED({});\n\n",
        upper(unit.name()) + "_ARENA_BYTES", unit.alignment());
  return text + constants_of(unit) + unit.helpers() + unit.functions() + entries_of(unit);
}

std::string assembler_of(const Unit& unit, const std::string& stem) {
  std::string text =
      fmt::format("/* Made by anybit's c-gen: the constants of {}.c. */\n  .section .rodata\n", stem);
  std::size_t offset = 0;
  for (const ConstantArray& one : unit.constants()) {
    if (!large(one)) continue;
    const std::string name = global_name(unit, one);
    text += fmt::format("  .balign {}\n  .globl {}\n{}:\n  .incbin \"{}.bin\", {}, {}\n", kDataAlignment,
                        name, name, stem, offset, one.bytes);
    offset += one.bytes;
  }
  return text + "  .section .note.GNU-stack, \"\", %progbits\n";
}

std::string data_of(const Unit& unit) {
  std::string bytes;
  for (const ConstantArray& one : unit.constants()) {
    if (large(one)) bytes.append(one.data, one.bytes);
  }
  return bytes;
}

}  // namespace anybit::cgen
