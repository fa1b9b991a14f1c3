#include "anybit/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace anybit {
namespace {

using Json = nlohmann::ordered_json;
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
  Json nodes = Json::array();
  for (const Entry& one : best_times(runs)) {
    nodes.push_back({{"name", one.name},
                     {"operator", one.op},
                     {"nanoseconds", one.nanoseconds},
                     {"macs", one.macs},
                     {"depth", one.depth}});
  }
  return nodes.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string profile_trace(const std::vector<RunProfile>& runs) {
  Json events = Json::array();
  double offset = 0;
  for (const RunProfile& run : runs) {
    double end = 0;
    for (const Entry& one : run.entries) {
      const double start = static_cast<double>(one.start) * 1e-3,
                   length = static_cast<double>(one.nanoseconds) * 1e-3;
      events.push_back({{"name", one.name},
                        {"cat", one.op},
                        {"ph", "X"},
                        {"ts", offset + start},
                        {"dur", length},
                        {"pid", 1},
                        {"tid", 1},
                        {"args", {{"operator", one.op}, {"macs", one.macs}}}});
      end = std::max(end, start + length);
    }
    offset += end;
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false,
                                                                       Json::error_handler_t::replace) +
         "\n";
}

}  // namespace anybit
