#include "verdict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostParts = 5;

Style style_of(Level level) {
  return level == Level::broken ? Style::red : level == Level::degraded ? Style::yellow : Style::bold;
}

// A word of a command that can be pasted into a shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=,:@%+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string next_command(const Verdict& verdict, const VerdictContext& context) {
  if (verdict.recipe.empty()) return {};
  std::string text = fmt::format("anybit quantize {} -o {} --recipe {}", quoted(context.model),
                                 quoted(context.output), verdict.recipe);
  for (std::size_t i = 0; i < context.data.paths.size(); ++i)
    text += (i == 0 ? " --calib " : " ") + quoted(context.data.paths[i]);
  return printable(text);
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
  } else if (verdict.level > Level::ok) {
    text += "  next    leave the layers with the largest SQNR drop in float: --exclude NODE,…\n";
  }
  return text;
}

Json verdict_json(const Verdict& verdict, const VerdictContext& context) {
  Json json = Json::parse(to_json(verdict));
  if (const std::string next = next_command(verdict, context); !next.empty()) json["next"] = next;
  return json;
}

}  // namespace anybit::cli
