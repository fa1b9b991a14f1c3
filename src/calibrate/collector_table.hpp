// The kinds of collectors: what calibration can gather of a value. One file each, which exports its row; the
// command line, Python and documents read this table, observers and refinements name what they need of it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "calibrate/view.hpp"

namespace anybit::calibrate {

struct CollectorDescriptor {
  std::string_view name, summary;
  // Null: Statistics has a place of its own for it, since observers read it; it looks at every value. The
  // others look at what layers with weights take.
  std::unique_ptr<Collector> (*make)(const View& view) = nullptr;
  bool by_rows = false;  // looks at it as products do (LayerInput::rows), not by its channels
};

bool before(const CollectorDescriptor& a, const CollectorDescriptor& b);
std::span<const CollectorDescriptor* const> collector_table();
// null if there is none of that name.
const CollectorDescriptor* find_collector(std::string_view name);
// The same with an error that offers the nearest name.
Result<const CollectorDescriptor*> named_collector(std::string_view name);

// What is to be gathered of a value.
struct Wanted {
  std::string_view collector;  // a row's name
  View view = {};
};
// What layers of a graph take, for collectors that look at those.
struct WantedOf {
  std::string value;
  Wanted wanted;
};
std::vector<WantedOf> wanted_of_layers(const std::vector<LayerInput>& layers,
                                       std::span<const CollectorDescriptor* const> collectors);

}  // namespace anybit::calibrate
