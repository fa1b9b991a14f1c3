#include "anybit/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/json.hpp"

namespace anybit {
namespace {

using Entry = RunProfile::Entry;

}  // namespace

std::vector<Entry> best_times(const std::vector<RunProfile>& runs) {
  if (runs.empty()) return {};
  std::vector<Entry> entries = runs[0].entries;
  for (const RunProfile& run : runs) {
    if (run.entries.size() != entries.size()) return runs[0].entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].nanoseconds = std::min(entries[i].nanoseconds, run.entries[i].nanoseconds);
    }
  }
  return entries;
}

std::string profile_json(const std::vector<RunProfile>& runs) {
  std::string text = "[";
  for (const Entry& one : best_times(runs)) {
    text += fmt::format(R"({}{{"name": {}, "operator": {}, "nanoseconds": {}, "macs": {}, "depth": {}}})",
                        text == "[" ? "" : ",\n ", json_text(one.name), json_text(one.op), one.nanoseconds,
                        one.macs, one.depth);
  }
  return text + "]";
}

std::string profile_trace(const std::vector<RunProfile>& runs) {
  std::string text = R"({"displayTimeUnit": "ms", "traceEvents": [)";
  double offset = 0;
  const char* between = "";
  for (const RunProfile& run : runs) {
    double end = 0;
    for (const Entry& one : run.entries) {
      const double start = static_cast<double>(one.start) * 1e-3,
                   length = static_cast<double>(one.nanoseconds) * 1e-3;
      text += fmt::format(
          R"({}{{"name": {}, "cat": {}, "ph": "X", "ts": {}, "dur": {}, "pid": 1, "tid": 1, "args": {{"operator": {}, "macs": {}}}}})",
          between, json_text(one.name), json_text(one.op), json_number(offset + start), json_number(length),
          json_text(one.op), one.macs);
      between = ",\n ";
      end = std::max(end, start + length);
    }
    offset += end;
  }
  return text + "]}\n";
}

}  // namespace anybit
