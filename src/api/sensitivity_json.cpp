#include <nlohmann/json.hpp>

#include "anybit/report.hpp"
#include "anybit/sensitivity.hpp"

namespace anybit {
namespace {

using SensitivityJson = nlohmann::ordered_json;

SensitivityJson json_of_effect(const Effect& effect) {
  SensitivityJson json = {{"harm", effect.harm},
                          {"level", to_string(effect.level)},
                          {"sqnr_db", effect.sqnr},
                          {"reason", effect.reason}};
  add_json_aliases(json);
  return json;
}

SensitivityJson json_of_layer(const LayerSensitivity& layer) {
  SensitivityJson json = {
      {"node", layer.node}, {"op", layer.op}, {"to", layer.what}, {"estimate", layer.estimate}};
  if (!layer.measured) return json;
  json["harm"] = layer.harm;
  json["alone"] = json_of_effect(layer.alone);
  json["left"] = json_of_effect(layer.left);
  return json;
}

}  // namespace

std::string to_json(const Sensitivity& sensitivity) {
  SensitivityJson json = {{"recipe", sensitivity.recipe},
                          {"samples", sensitivity.samples},
                          {"runs", sensitivity.runs},
                          {"seconds", sensitivity.seconds},
                          {"all", json_of_effect(sensitivity.all)},
                          {"plain", json_of_effect(sensitivity.plain)},
                          {"refinements_harm", sensitivity.refinements_harm},
                          {"exclude", sensitivity.exclude}};
  if (sensitivity.excluded.level != Level::unknown) json["excluded"] = json_of_effect(sensitivity.excluded);
  json["layers"] = SensitivityJson::array();
  for (const LayerSensitivity& layer : sensitivity.layers) json["layers"].push_back(json_of_layer(layer));
  json["remarks"] = sensitivity.remarks;
  return json.dump(-1, ' ', false, SensitivityJson::error_handler_t::replace);
}

}  // namespace anybit
