#include "quantize/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace anybit::quantizing {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

void add(const Descriptor& one, std::vector<std::string>& names) {
  if (const Descriptor* included = find_refinement(one.includes)) add(*included, names);
  if (std::ranges::find(names, one.name) == names.end()) names.emplace_back(one.name);
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

Result<std::vector<std::string>> read_refinements(std::string_view text) {
  std::vector<std::string> names;
  std::vector<std::string_view> known{"none"};
  for (const Descriptor* one : table()) known.insert(known.end(), {one->name, one->alias});
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (name == "none" || name.empty()) continue;
    const Descriptor* found = find_refinement(name);
    if (!found) {
      const std::string meant = did_you_mean(name, known);
      return invalid_argument(fmt::format("refine: no refinement is called '{}'", shown(std::string(name))),
                              meant.empty() ? refinement_names() : meant);
    }
    add(*found, names);
  }
  return names;
}

}  // namespace anybit::quantizing
