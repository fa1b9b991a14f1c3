#include "diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace anybit::verilog {
namespace {

// The table under another order: bit i of an address is what was bit order[i].
Table reordered(const Table& table, const std::vector<int>& order) {
  Table result(table.size(), '-');
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::size_t from = 0;
    for (std::size_t bit = 0; bit < order.size(); ++bit) from |= (i >> bit & 1) << order[bit];
    result[i] = table[from];
  }
  return result;
}

// Whether one function serves both halves; then it is in `joined`.
bool join(const Table& low, const Table& high, Table& joined) {
  joined = low;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (high[i] == '-') continue;
    if (low[i] != '-' && low[i] != high[i]) return false;
    joined[i] = high[i];
  }
  return true;
}

std::vector<int> numbers_to(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::size_t nodes_of(const Table& table, const std::vector<int>& order) {
  Diagrams alone;
  alone.add_in_order(reordered(table, order), numbers_to(order.size()));
  return alone.decisions().size();
}

// Moves each bit to the best place while the others keep their order (sifting, Rudell, 1993); large tables
// get fewer trials.
std::vector<int> good_order(const Table& table, std::size_t bits) {
  std::vector<int> best = numbers_to(bits);
  std::size_t trials = std::max<std::size_t>(2, std::size_t{1} << 16 >> bits);
  std::size_t least = nodes_of(table, best);
  for (int bit = 0; bit < static_cast<int>(bits); ++bit) {
    std::vector<int> others = best;
    std::erase(others, bit);
    for (std::size_t place = 0; place < bits && trials > 0; ++place, --trials) {
      std::vector<int> order = others;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), bit);
      const std::size_t nodes = nodes_of(table, order);
      if (nodes >= least) continue;
      least = nodes;
      best = order;
    }
  }
  return best;
}

}  // namespace

Diagrams::Ref Diagrams::decide(int signal, Ref low, Ref high) {
  if (low == high) return low;
  const Ref flip = high & 1;
  const Ref first = low ^ flip, second = high ^ flip;
  const auto [found, added] = unique_.try_emplace({signal, first, second}, 0);
  if (added) {
    decisions_.push_back({signal, first, second});
    found->second = static_cast<Ref>(2 * decisions_.size());
  }
  return found->second ^ flip;
}

// Decides the highest bit first; order[depth - 1] is its signal.
Diagrams::Ref Diagrams::build(const Table& table, const std::vector<int>& order, std::size_t depth,
                              std::vector<Memo>& memo) {
  if (table.find('1') == Table::npos) return kZero;
  if (table.find('0') == Table::npos) return kOne;
  const auto [found, added] = memo[depth].try_emplace(table, kZero);
  if (!added) return found->second;
  const Table low = table.substr(0, table.size() / 2), high = table.substr(table.size() / 2);
  Table joined;
  const Ref made = join(low, high, joined) ? build(joined, order, depth - 1, memo)
                                           : decide(order[depth - 1], build(low, order, depth - 1, memo),
                                                    build(high, order, depth - 1, memo));
  found->second = made;  // references to elements stay valid
  return made;
}

Diagrams::Ref Diagrams::add_in_order(const Table& table, const std::vector<int>& signals) {
  std::vector<Memo> memo(signals.size() + 1);
  return build(table, signals, signals.size(), memo);
}

Diagrams::Ref Diagrams::add(const Table& table, const std::vector<int>& signals) {
  const std::vector<int> order = good_order(table, signals.size());
  std::vector<int> ordered;
  for (const int bit : order) ordered.push_back(signals[static_cast<std::size_t>(bit)]);
  return add_in_order(reordered(table, order), ordered);
}

std::string Diagrams::name(Ref ref) {
  if (ref <= kOne) return ref == kZero ? "1'b0" : "1'b1";
  return fmt::format("{}n{}", (ref & 1) != 0 ? "~" : "", ref / 2 - 1);
}

std::string Diagrams::expression(const Decision& decision, const std::string& signal) const {
  const auto [_, low, high] = decision;
  if (low == kOne && high == kZero) return "~" + signal;
  if (high == (low ^ 1)) return fmt::format("{} ^ {}", signal, name(low));
  if (low == kZero) return fmt::format("{} & {}", signal, name(high));
  if (low == kOne) return fmt::format("~{} | {}", signal, name(high));
  if (high == kZero) return fmt::format("~{} & {}", signal, name(low));
  if (high == kOne) return fmt::format("{} | {}", signal, name(low));
  return fmt::format("{} ? {} : {}", signal, name(high), name(low));
}

}  // namespace anybit::verilog
