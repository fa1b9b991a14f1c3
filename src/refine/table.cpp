#include "refine/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "formats/parameters.hpp"

namespace anybit::quantizing {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Consumes the text up to and including the next such character.
std::string_view taken(std::string_view& text, char until) {
  const std::size_t at = std::min(text.find(until), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return trimmed(part);
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.name < b.name; }

const Descriptor* find_refinement(std::string_view name) {
  for (const Descriptor* one : table()) {
    if (!name.empty() && (one->name == name || one->alias == name)) return one;
  }
  return nullptr;
}

std::string refinement_names() {
  std::string names = "none";
  for (const Descriptor* one : table()) names += fmt::format(", {} ({})", one->name, one->alias);
  return names;
}

std::vector<calibrate::WantedOf> needs_of(const Descriptor& row, const graph::Node& node, int weight,
                                          std::span<const std::int64_t> dims) {
  if (row.needs.empty()) return {};
  std::vector<const calibrate::CollectorDescriptor*> collectors;
  for (const std::string_view name : row.needs) collectors.push_back(calibrate::find_collector(name));
  const auto layer = calibrate::layer_input(node, weight, dims);
  return layer ? calibrate::wanted_of_layers({*layer}, collectors) : std::vector<calibrate::WantedOf>();
}

Result<void> RefinementReader::add(std::string_view name, const Given& parameters) {
  if (name == "none" && parameters.empty()) return {};
  const bool optional = name.ends_with('?');
  if (optional) name.remove_suffix(1);
  const Descriptor* row = find_refinement(name);
  if (!row) {
    std::vector<std::string_view> known{"none"};
    for (const Descriptor* one : table()) known.insert(known.end(), {one->name, one->alias});
    const std::string meant = did_you_mean(name, known);
    return invalid_argument(fmt::format("refine: no refinement is called '{}'", shown(std::string(name))),
                            meant.empty() ? refinement_names() : meant);
  }
  const std::string owner = fmt::format("refinement {}", row->name);
  formats::Values given;
  for (const auto& [key, text] : parameters) {
    formats::Value value = TRY(formats::parse(owner, row->parameters, key, text));
    if (!given.emplace(key, std::move(value)).second)
      return invalid_argument(fmt::format("{}: '{}' is given twice", owner, shown(key)), "once");
  }
  Refinement wanted{.name = std::string(row->name), .optional = optional};
  wanted.parameters = TRY(formats::complete(owner, row->parameters, given));
  if (const Descriptor* included = find_refinement(row->includes);
      included && !optional && std::ranges::find(list_, included->name, &Refinement::name) == list_.end()) {
    Refinement one{std::string(included->name)};
    one.parameters = TRY(formats::complete(included->name, included->parameters, {}));
    list_.push_back(std::move(one));
  }
  const auto found = std::ranges::find(list_, wanted.name, &Refinement::name);
  const bool again = std::ranges::count(named_, row->name) > 0;
  if (again && *found != wanted)
    return invalid_argument(fmt::format("{} is named twice, with different parameters", owner), "once");
  named_.push_back(row->name);
  if (found == list_.end()) {
    list_.push_back(std::move(wanted));
  } else {
    *found = std::move(wanted);
  }
  return {};
}

Result<void> RefinementReader::add_text(std::string_view text) {
  while (!text.empty()) {
    std::string_view one = taken(text, ',');
    const std::string_view name = taken(one, ':');
    Given parameters;
    while (!one.empty()) {
      std::string_view value = taken(one, ':');
      const bool whole = value.find('=') != std::string_view::npos;
      const std::string_view key = taken(value, '=');
      if (!whole || key.empty())
        return invalid_argument(fmt::format("refine: '{}' has no value", shown(std::string(key))),
                                fmt::format("{}:{}=…", name, key.empty() ? "parameter" : key));
      parameters.emplace_back(key, value);
    }
    if (!name.empty() || !parameters.empty()) TRY(add(name, parameters));
  }
  return {};
}

std::string parameter_text(const Descriptor& row, const formats::Values& parameters) {
  std::string text;
  for (const formats::Parameter& one : row.parameters) {
    const auto found = parameters.find(one.name);
    if (found != parameters.end() && found->second != one.preset)
      text += fmt::format("{}{}={}", text.empty() ? "" : ":", one.name, formats::to_string(found->second));
  }
  return text;
}

}  // namespace anybit::quantizing
