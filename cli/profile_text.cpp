#include "profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "anybit/profile.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

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

// GMAC/s: multiply-accumulates per nanosecond.
std::string rate(std::int64_t macs, std::int64_t nanoseconds) {
  if (macs == 0 || nanoseconds == 0) return "";
  return fmt::format("{:.2f}", static_cast<double>(macs) / static_cast<double>(nanoseconds));
}

// The time of a node includes the nodes of its subgraphs.
std::int64_t total_of(const std::vector<Entry>& entries) {
  std::int64_t total = 0;
  for (const Entry& one : entries) total += one.depth == 0 ? one.nanoseconds : 0;
  return total;
}

// The self time of each node, without the nodes of its subgraphs, which follow it: self times add up to the
// total.
std::vector<std::int64_t> own_times(const std::vector<Entry>& entries) {
  std::vector<std::int64_t> own;
  std::vector<std::size_t> outer;  // by depth
  for (const Entry& one : entries) {
    outer.resize(static_cast<std::size_t>(one.depth));
    if (!outer.empty()) own[outer.back()] -= std::min(own[outer.back()], one.nanoseconds);
    outer.push_back(own.size());
    own.push_back(one.nanoseconds);
  }
  return own;
}

std::vector<std::pair<std::string, Group>> groups_of(const std::vector<Entry>& entries) {
  std::map<std::string, Group> groups;
  const std::vector<std::int64_t> own = own_times(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Group& group = groups[entries[i].op];
    ++group.nodes;
    group.nanoseconds += own[i];
    group.macs += entries[i].macs;
  }
  std::vector<std::pair<std::string, Group>> list(groups.begin(), groups.end());
  std::ranges::stable_sort(
      list, [](const auto& a, const auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  return list;
}

}  // namespace

std::string to_text(const std::vector<RunProfile>& runs) {
  std::vector<Entry> entries = best_times(runs);
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

}  // namespace anybit::cli
