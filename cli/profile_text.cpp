#include "profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;
using Entry = RunProfile::Entry;

constexpr std::size_t kSlowest = 15;
constexpr std::size_t kLongName = 48;

struct Group {
  std::int64_t nodes = 0, nanoseconds = 0, macs = 0;
};

std::string milliseconds(std::int64_t nanoseconds) {
  return fmt::format("{:.3f}", static_cast<double>(nanoseconds) * 1e-6);
}

// Multiply-accumulates per nanosecond are GMAC/s.
std::string rate(std::int64_t macs, std::int64_t nanoseconds) {
  if (macs == 0 || nanoseconds == 0) return "";
  return fmt::format("{:.2f}", static_cast<double>(macs) / static_cast<double>(nanoseconds));
}

// Each node's best time, if all runs went the same way; else the first run.
std::vector<Entry> best(const std::vector<RunProfile>& runs) {
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

// Nodes inside a node count in it.
std::int64_t total_of(const std::vector<Entry>& entries) {
  std::int64_t total = 0;
  for (const Entry& one : entries) total += one.depth == 0 ? one.nanoseconds : 0;
  return total;
}

std::vector<std::pair<std::string, Group>> groups_of(const std::vector<Entry>& entries) {
  std::map<std::string, Group> groups;
  for (const Entry& one : entries) {
    Group& group = groups[one.op];
    ++group.nodes;
    group.nanoseconds += one.nanoseconds;
    group.macs += one.macs;
  }
  std::vector<std::pair<std::string, Group>> list(groups.begin(), groups.end());
  std::ranges::stable_sort(
      list, [](const auto& a, const auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  return list;
}

}  // namespace

std::string to_text(const std::vector<RunProfile>& runs) {
  std::vector<Entry> entries = best(runs);
  const std::int64_t total = total_of(entries);
  Table operators({{"operator"},
                   {"nodes", Align::right},
                   {"ms", Align::right},
                   {"share", Align::right},
                   {"GMAC/s", Align::right}});
  for (const auto& [name, group] : groups_of(entries)) {
    operators.add({name, long_count(group.nodes), milliseconds(group.nanoseconds),
                   share(group.nanoseconds, total), rate(group.macs, group.nanoseconds)});
  }
  std::ranges::stable_sort(entries,
                           [](const Entry& a, const Entry& b) { return a.nanoseconds > b.nanoseconds; });
  Table nodes(
      {{"node"}, {"operator"}, {"ms", Align::right}, {"share", Align::right}, {"GMAC/s", Align::right}});
  for (std::size_t i = 0; i < std::min(kSlowest, entries.size()); ++i) {
    const Entry& one = entries[i];
    nodes.add({shortened(printable(one.name), kLongName), one.op, milliseconds(one.nanoseconds),
               share(one.nanoseconds, total), rate(one.macs, one.nanoseconds)});
  }
  return fmt::format("\n{}\n{}\n{}\n{}", styled("Time by operator", Style::bold), operators.text(),
                     styled("Slowest nodes", Style::bold), nodes.text());
}

std::string to_json(const std::vector<RunProfile>& runs) {
  Json nodes = Json::array();
  for (const Entry& one : best(runs)) {
    nodes.push_back({{"name", one.name},
                     {"operator", one.op},
                     {"nanoseconds", one.nanoseconds},
                     {"macs", one.macs},
                     {"depth", one.depth}});
  }
  return nodes.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_trace(const std::vector<RunProfile>& runs) {
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

}  // namespace anybit::cli
