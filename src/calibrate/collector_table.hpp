// The table of collectors. Each file exports its row. The command line, Python and the documents list it;
// observers and refinements refer to its rows by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "calibrate/view.hpp"

namespace anybit::calibrate {

struct CollectorDescriptor {
  std::string_view name, summary;
  // Null: a member of Statistics, which observers read, gathered for every value. The others are gathered for
  // the inputs of layers with weights.
  std::unique_ptr<Collector> (*make)(const View& view) = nullptr;
  bool by_rows = false;  // its view is LayerInput::rows, otherwise LayerInput::channels
};

bool before(const CollectorDescriptor& a, const CollectorDescriptor& b);
std::span<const CollectorDescriptor* const> collector_table();
// null if there is none
const CollectorDescriptor* find_collector(std::string_view name);
// Like find_collector(), with an error that suggests the nearest name.
Result<const CollectorDescriptor*> named_collector(std::string_view name);

// A collector to run on a value.
struct Wanted {
  std::string_view collector;  // the name of a row
  View view = {};
};
// The same for the input of a layer.
struct WantedOf {
  std::string value;
  Wanted wanted;
};
std::vector<WantedOf> wanted_of_layers(const std::vector<LayerInput>& layers,
                                       std::span<const CollectorDescriptor* const> collectors);

}  // namespace anybit::calibrate
