#include "verdict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "shell_words.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostParts = 5;

Style style_of(Level level) {
  return level == Level::broken ? Style::red : level == Level::degraded ? Style::yellow : Style::bold;
}

// A wider preset, or if there is none, the measurement that finds the layers to leave in float.
std::string next_command(const Verdict& verdict, const VerdictContext& context) {
  if (verdict.level <= Level::ok) return {};
  if (verdict.recipe.empty()) {
    if (context.data.paths.empty()) return {};
    const std::string recipe =
        context.recipe.empty() ? std::string() : fmt::format(" --recipe {}", quoted(context.recipe));
    return printable(
        fmt::format("anybit sensitivity {}{}{}", quoted(context.model), recipe, data_words(context.data)));
  }
  std::string text = fmt::format("anybit quantize {} -o {} --recipe {}", quoted(context.model),
                                 quoted(context.output), verdict.recipe);
  return printable(text + data_words(context.data));
}

// The same recipe, trained.
std::string training_command(const Verdict& verdict, const VerdictContext& context) {
  if (verdict.level <= Level::ok || !context.train || context.data.paths.empty()) return {};
  const std::string recipe =
      context.recipe.empty() ? std::string() : fmt::format(" --recipe {}", quoted(context.recipe));
  return printable(fmt::format("anybit quantize {} -o {}{}{} --train", quoted(context.model),
                               quoted(context.output), recipe, data_words(context.data)));
}

}  // namespace

std::string verdict_text(const Verdict& verdict, const VerdictContext& context) {
  std::string text =
      fmt::format("Verdict   {}: {}\n", styled(to_string(verdict.level), style_of(verdict.level)),
                  printable(verdict.reason));
  // Other parts that are not ok.
  std::size_t more = 0;
  for (const PartVerdict& one : verdict.parts) {
    if (one.level <= Level::ok || one.reason == verdict.reason || ++more > kMostParts) continue;
    text += fmt::format("          {}: {}\n", to_string(one.level), printable(one.reason));
  }
  if (more > kMostParts) text += fmt::format("          and {} more parts of outputs\n", more - kMostParts);
  if (const std::string next = next_command(verdict, context); !next.empty()) {
    text += fmt::format("  next    {}\n", next);
  }
  // docs/training.md has the figures.
  if (const std::string train = training_command(verdict, context); !train.empty())
    text += fmt::format(
        "  train   {}\n          formats of few bits usually regain most of their loss in training\n", train);
  return text;
}

Json verdict_json(const Verdict& verdict, const VerdictContext& context) {
  Json json = Json::parse(to_json(verdict));
  if (const std::string next = next_command(verdict, context); !next.empty()) json["next"] = next;
  if (const std::string train = training_command(verdict, context); !train.empty()) json["train"] = train;
  return json;
}

}  // namespace anybit::cli
