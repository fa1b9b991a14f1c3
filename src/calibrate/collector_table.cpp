#include "calibrate/collector_table.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace anybit::calibrate {

bool before(const CollectorDescriptor& a, const CollectorDescriptor& b) { return a.name < b.name; }

const CollectorDescriptor* find_collector(std::string_view name) {
  for (const CollectorDescriptor* one : collector_table()) {
    if (one->name == name) return one;
  }
  return nullptr;
}

Result<const CollectorDescriptor*> named_collector(std::string_view name) {
  if (const CollectorDescriptor* found = find_collector(name)) return found;
  std::vector<std::string_view> names;
  for (const CollectorDescriptor* one : collector_table()) names.push_back(one->name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("collectors are {}", fmt::join(names, ", "));
  return error_at(Code::not_found, {}, fmt::format("there is no collector '{}'", shown(name)), hint);
}

std::vector<WantedOf> wanted_of_layers(const std::vector<LayerInput>& layers,
                                       std::span<const CollectorDescriptor* const> collectors) {
  std::vector<WantedOf> all;
  for (const LayerInput& layer : layers) {
    for (const CollectorDescriptor* one : collectors) {
      if (one->make) all.push_back({layer.value, {one->name, one->by_rows ? layer.rows : layer.channels}});
    }
  }
  return all;
}

}  // namespace anybit::calibrate
