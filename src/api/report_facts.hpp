// What a report tells of a node beside its quantization: types of its values, attributes, work and time.
#pragma once

#include <nlohmann/json.hpp>

#include "anybit/report.hpp"

namespace anybit {

// Adds the keys "types", "attributes", "macs", "ms" and "ms_before" to the rows of "nodes", and to the
// document "constants" (types of weights, by name) and "input_types".
Result<void> add_node_facts(const ReportInput& input, nlohmann::ordered_json& document);

}  // namespace anybit
