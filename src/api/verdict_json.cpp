#include <nlohmann/json.hpp>

#include "anybit/report.hpp"
#include "anybit/verdict.hpp"

namespace anybit {
namespace {

using VerdictJson = nlohmann::ordered_json;

VerdictJson json_of_part(const PartVerdict& one) {
  const OutputPart& part = one.part;
  VerdictJson json = {{"output", part.output}, {"kind", part.kind},   {"level", to_string(one.level)},
                      {"reason", one.reason},  {"count", part.count}, {"sqnr_db", part.sqnr},
                      {"cosine", part.cosine}};
  add_json_aliases(json);
  if (part.axis >= 0) json["axis"] = part.axis;
  if (part.last >= part.first) json["channels"] = {part.first, part.last};
  if (part.kind == "classes")
    json["agreement"] = {{"rows", part.rows}, {"agreed", part.agreed}, {"divergence", part.divergence}};
  if (part.kind == "probabilities")
    json["decisions"] = {
        {"threshold", part.threshold}, {"before", part.before}, {"after", part.after}, {"both", part.both}};
  return json;
}

}  // namespace

std::string to_json(const Verdict& verdict) {
  VerdictJson json = {{"level", to_string(verdict.level)}, {"reason", verdict.reason}};
  if (!verdict.recipe.empty()) json["recipe"] = verdict.recipe;
  json["parts"] = VerdictJson::array();
  for (const PartVerdict& one : verdict.parts) json["parts"].push_back(json_of_part(one));
  return json.dump(-1, ' ', false, VerdictJson::error_handler_t::replace);
}

}  // namespace anybit
