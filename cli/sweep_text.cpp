#include "sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;
using Json = nlohmann::ordered_json;

double percent(std::int64_t right, std::int64_t labelled) {
  return 100.0 * static_cast<double>(right) / static_cast<double>(labelled);
}

std::string decibels(double value) { return value >= 200 ? "same" : fmt::format("{:.1f}", value); }

std::string times(double ratio) { return ratio > 0 ? fmt::format("{:.2f} ×", ratio) : ""; }

// The float model's accuracy, which every comparison repeats.
std::string reference_top1(const Sweep& sweep) {
  for (const SweepRow& row : sweep.rows) {
    const Comparison& one = row.comparison;
    if (one.labelled > 0) return fmt::format("{:.2f} %", percent(one.reference_top1, one.labelled));
  }
  return {};
}

// A field of a CSV file (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string sweep_text(const Sweep& sweep, const std::string& first, const std::string& model) {
  Table table({{first},
               {"size", Align::right},
               {"smaller", Align::right},
               {"verdict"},
               {"dB", Align::right},
               {"top-1", Align::right},
               {"speed", Align::right},
               {"worst part"}});
  table.add({model, short_bytes(sweep.bytes), "", "", "", reference_top1(sweep),
             sweep.milliseconds > 0 ? "1.00 ×" : "", ""});
  for (const SweepRow& row : sweep.rows) {
    if (!row.failed.empty()) {
      table.add({row.recipe, "", "", "-", "", "", "", row.failed});
      continue;
    }
    const Comparison& one = row.comparison;
    const std::string top1 =
        one.labelled > 0 ? fmt::format("{:.2f} %", percent(one.other_top1, one.labelled)) : "";
    const double ratio =
        row.bytes > 0 ? static_cast<double>(sweep.bytes) / static_cast<double>(row.bytes) : 0;
    const std::string reason = one.verdict.parts.empty() ? one.verdict.reason : one.verdict.parts[0].reason;
    table.add({row.recipe, short_bytes(row.bytes), times(ratio), to_string(one.verdict.level),
               decibels(row.sqnr), top1, times(row.speed), reason});
  }
  return table.text();
}

std::string sweep_csv(const Sweep& sweep) {
  std::string text = "recipe,bytes,verdict,sqnr_db,top1,milliseconds,speed,reason\r\n";
  for (const SweepRow& row : sweep.rows) {
    if (!row.failed.empty()) {
      text += fmt::format("{},,failed,,,,,{}\r\n", field(row.recipe), field(row.failed));
      continue;
    }
    const Comparison& one = row.comparison;
    const std::string top1 =
        one.labelled > 0 ? fmt::format("{:.6g}", percent(one.other_top1, one.labelled) / 100) : "";
    const auto number = [](double value) { return value > 0 ? fmt::format("{:.6g}", value) : std::string(); };
    text += fmt::format("{},{},{},{:.6g},{},{},{},{}\r\n", field(row.recipe), row.bytes,
                        to_string(one.verdict.level), row.sqnr, top1, number(row.milliseconds),
                        number(row.speed), field(one.verdict.reason));
  }
  return text;
}

std::string sweep_json(const Sweep& sweep, const std::string& model) {
  Json json = {{"reference", {{"file", model}, {"bytes", sweep.bytes}}}};
  if (sweep.milliseconds > 0) json["reference"]["milliseconds"] = sweep.milliseconds;
  json["rows"] = Json::parse(to_json(sweep));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
