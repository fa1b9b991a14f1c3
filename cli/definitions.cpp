#include "definitions.hpp"

#include <algorithm>
#include <cctype>

#include "anybit/calibrate.hpp"
#include "anybit/codegen.hpp"
#include "anybit/formats.hpp"
#include "anybit/prepare.hpp"
#include "anybit/quantize.hpp"

namespace anybit::cli {
namespace {

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.push_back(one.name);
  return names;
}

std::vector<std::string> format_names() {
  const auto formats = list_formats();
  return formats.ok() ? names_of(*formats) : std::vector<std::string>();
}

// The types that `anybit run --quantize` takes: presets, and names that other runtimes use.
std::vector<std::string> quantization_types() {
  std::vector<std::string> names = names_of(recipe_presets());
  names.insert(names.end(), {"int8_wo", "int16_wo"});
  return names;
}

// Options with the same choices in every command. tests/e2e/test_shell.py compares them with the choices that
// errors list.
struct Words {
  std::string_view option;
  std::vector<std::string> words;
};
const std::vector<Words>& fixed_words() {
  static const std::vector<Words> all{
      {"--emit", {"portable", "packed", "qdq", "qoperator", "quark"}},
      {"--domain", {"com.amd.quark", "com.vai.quantize"}},
      {"--reduce-range", {"pairs", "none"}},
      {"--prefer", {"default", "performance", "memory", "compile-time"}},
      {"--layout", {"NCHW", "NHWC"}},
      {"--granularity", {"element", "tensor", "channel", "block"}},
      {"--rounding", {"half_even", "half_away", "half_up", "toward_zero", "floor", "stochastic"}},
      {"SHELL", {"bash", "zsh"}}};
  return all;
}

std::vector<std::string> choices_of(const std::string& command, const std::string& option) {
  const auto fixed = std::ranges::find(fixed_words(), option, &Words::option);
  if (fixed != fixed_words().end()) return fixed->words;
  if (option == "--recipe" || (command == "recipes" && option == "NAME")) return names_of(recipe_presets());
  if (option == "--format" || (command == "formats" && option == "NAME")) return format_names();
  if (option == "--codegen" || (option == "--target" && command == "codegen"))
    return names_of(list_generators({}));
  if (option == "--target") return names_of(target_list());
  if (option == "--refine") {
    std::vector<std::string> names = names_of(refinement_list());
    for (const RefinementInfo& one : refinement_list()) names.push_back(one.alias);
    names.emplace_back("none");
    return names;
  }
  if (option == "--quantize") return quantization_types();
  if (option == "--observer") return names_of(observers());
  if (option == "--collect") return names_of(collectors());
  if (option == "--pass") return names_of(preparation_passes());
  return {};
}

std::string upper(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

// CLI11 names an unnamed value TEXT, INT, UINT or FLOAT, and appends the descriptions of validators after a
// colon.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  std::string type = option.get_type_name();
  type.resize(std::min(type.size(), type.find(':')));
  if (type == "INT" || type == "UINT" || type == "FLOAT") return "N";
  if (!type.empty() && type != "TEXT") return type;
  return upper(option.get_lnames().empty() ? "VALUE" : option.get_lnames()[0]);
}

OptionText text_of(const std::string& command, const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  if (text.positional) {
    text.names = {option.get_name(true)};
  } else {
    for (const std::string& one : option.get_snames()) text.names.push_back("-" + one);
    for (const std::string& one : option.get_lnames()) text.names.push_back("--" + one);
    text.value = value_of(option);
  }
  text.about = option.get_description();
  text.choices = choices_of(command, text.names.back());
  return text;
}

CommandText text_of(const CLI::App& app, const std::string& name) {
  CommandText text{name, app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) text.options.push_back(text_of(name, *option));
  }
  std::ranges::stable_sort(
      text.options, [](const OptionText& a, const OptionText& b) { return a.positional && !b.positional; });
  return text;
}

}  // namespace

std::vector<CommandText> definitions(const CLI::App& app) {
  std::vector<CommandText> all{text_of(app, "")};
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(text_of(*one, one->get_name()));
  return all;
}

}  // namespace anybit::cli
