#include "calibrate/table.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace anybit::calibrate {

bool before(const Descriptor& a, const Descriptor& b) { return a.name < b.name; }

const Descriptor* find(std::string_view name) {
  for (const Descriptor* one : table()) {
    if (one->name == name) return one;
  }
  return nullptr;
}

Result<const Descriptor*> named(std::string_view name) {
  if (const Descriptor* found = find(name)) return found;
  std::vector<std::string_view> names;
  for (const Descriptor* one : table()) names.push_back(one->name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("observers are {}", fmt::join(names, ", "));
  return error_at(Code::not_found, {}, fmt::format("there is no observer '{}'", shown(name)), hint);
}

}  // namespace anybit::calibrate
