#include "sensitivity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "recipe_options.hpp"
#include "shell_words.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;
using Json = nlohmann::ordered_json;

std::string next_command(const Sensitivity& found, const SensitivityContext& context) {
  if (found.excluded.level == Level::unknown) return {};
  std::vector<std::string> words = context.exclude;
  words.insert(words.end(), found.exclude.begin(), found.exclude.end());
  const std::filesystem::path model(context.model);
  const std::string output = (model.parent_path() / model.stem()).string() + ".mixed.onnx";
  std::string text = fmt::format("anybit quantize {} -o {} --recipe {}", quoted(context.model),
                                 quoted(output), quoted(context.recipe));
  if (found.refinements_harm && !is_file(context.recipe)) text += " --refine none";
  if (!words.empty()) text += " --exclude " + quoted(fmt::format("{}", fmt::join(words, ",")));
  return printable(text + data_words(context.data));
}

std::string decibels(const Effect& effect) {
  return effect.sqnr >= 200 ? "same" : fmt::format("{:.1f}", effect.sqnr);
}

std::string harm(double value) { return fmt::format("{:.3g}", std::max(0.0, value)); }

Table table_of(const std::vector<LayerSensitivity>& layers, std::int64_t rows) {
  Table table({{"node"},
               {"operator"},
               {"harm", Align::right},
               {"alone", Align::right},
               {"dB", Align::right},
               {"left in float", Align::right},
               {"estimate", Align::right}});
  for (const LayerSensitivity& one : layers) {
    if (rows-- <= 0) break;
    if (!one.measured)
      table.add({shortened_name(one.node), one.op, "", "", "", "", harm(one.estimate)});
    else
      table.add({shortened_name(one.node), one.op, harm(one.harm), harm(one.alone.harm), decibels(one.alone),
                 harm(one.left.harm), harm(one.estimate)});
  }
  return table;
}

}  // namespace

std::string sensitivity_text(const Sensitivity& found, const SensitivityContext& context, std::int64_t rows) {
  std::string text = fmt::format("{}  {}\n", styled(found.recipe, Style::bold), context.model);
  text += fmt::format("  all layers  harm {}, {}\n", harm(found.all.harm), printable(found.all.reason));
  if (found.plain.harm != found.all.harm)
    text +=
        fmt::format("  unrefined   harm {}, {}: {}\n", harm(found.plain.harm), printable(found.plain.reason),
                    found.refinements_harm ? "the refinements of the recipe do not help here"
                                           : "the layers are compared with this");
  const auto measured = std::ranges::count_if(found.layers, &LayerSensitivity::measured);
  text += fmt::format("  measured    {} of {} layers on {} samples: {} runs, {:.1f} s\n", measured,
                      found.layers.size(), found.samples, long_count(found.runs), found.seconds);
  if (rows > 0) text += "\n" + table_of(found.layers, rows).text();
  for (const std::string& remark : found.remarks) text += printable(remark) + "\n";
  text += fmt::format("\nVerdict   {}: {}\n", to_string(found.all.level), printable(found.all.reason));
  if (const std::string next = next_command(found, context); !next.empty())
    text += fmt::format("  next    {}\n          {}: {}\n", next, to_string(found.excluded.level),
                        printable(found.excluded.reason));
  if (found.refinements_harm && is_file(context.recipe))
    text += fmt::format("          and without `refine` in {}\n", printable(context.recipe));
  return text;
}

std::string sensitivity_json(const Sensitivity& found, const SensitivityContext& context) {
  Json json = Json::parse(to_json(found));
  if (const std::string next = next_command(found, context); !next.empty()) json["next"] = next;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
