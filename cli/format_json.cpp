#include <cmath>
#include <nlohmann/json.hpp>

#include "format_example.hpp"
#include "format_text.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json value_json(const ParameterValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json parameter_json(const FormatParameter& p) {
  constexpr const char* kTypes[] = {"bool", "int", "float", "string"};
  Json json{{"name", p.name},
            {"type", kTypes[p.preset.index()]},
            {"default", value_json(p.preset)},
            {"doc", p.doc}};
  if (!p.choices.empty()) json["choices"] = p.choices;
  if (p.preset.index() == 1 || p.preset.index() == 2) {
    json["low"] = number(p.low);
    json["high"] = number(p.high);
  }
  return json;
}

Json format_json(const FormatInfo& f) {
  Json json{{"name", f.name},
            {"family", f.family},
            {"summary", f.summary},
            {"bits", f.bits},
            {"bits_per_value", f.bits_per_value},
            {"lowest", f.lowest},
            {"largest", f.largest},
            {"smallest", f.smallest},
            {"zero", f.zero},
            {"negative_zero", f.negative_zero},
            {"infinity", f.infinity},
            {"nan", f.nan},
            {"layout", f.layout},
            {"granularity", name_of(f.granularity)},
            {"block_size", f.block_size > 0 ? Json(f.block_size) : Json()}};
  json["fields"] = Json::array();
  for (const FormatField& field : f.fields) {
    json["fields"].push_back({{"name", field.name},
                              {"type", field.type},
                              {"count", field.count},
                              {"per_tensor", field.per_tensor}});
  }
  json["parameters"] = Json::array();
  for (const FormatParameter& p : f.parameters) json["parameters"].push_back(parameter_json(p));
  return json;
}

Json numbers_json(const std::vector<float>& numbers) {
  Json list = Json::array();
  for (const float x : numbers) list.push_back(number(x));
  return list;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const std::vector<FormatInfo>& formats) {
  Json json = Json::array();
  for (const FormatInfo& f : formats) json.push_back(format_json(f));
  return dumped({{"formats", json}});
}

Result<std::string> to_json(const FormatInfo& f, const ParameterValues& parameters) {
  const auto example = example_of(f, parameters);
  if (!example.ok()) return example.error();
  Json json = format_json(f);
  Json shared = Json::object();
  for (const StoredField& field : example->shared) shared[field.name] = numbers_of(field);
  json["example"] = {{"numbers", numbers_json(example->numbers)},
                     {"codes", example->codes},
                     {"values", numbers_json(example->values)},
                     {"shared", shared}};
  if (!example->all_values.empty()) json["example"]["all_values"] = numbers_json(example->all_values);
  return dumped(json);
}

}  // namespace anybit::cli
