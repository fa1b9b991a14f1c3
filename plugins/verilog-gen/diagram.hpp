// Reduced ordered binary decision diagrams (Bryant, 1986) with complement edges, of functions that are not
// specified everywhere: unreachable inputs may have any result, which joins branches.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace anybit::verilog {

// A function of few bits: character i is its result where the bits make the number i: '0', '1', or '-' if it
// does not matter.
using Table = std::string;

// The diagrams of a module; equal nodes are shared.
class Diagrams {
 public:
  // A reference to a node: 2 · node + 1 if it is complemented. Node 0 is the constant 0.
  using Ref = std::uint32_t;
  static constexpr Ref kZero = 0, kOne = 1;

  // The diagram of `table`, whose address bit i is `signals[i]`. A signal is a number that the caller gives
  // a name; the order of decisions is chosen to need few nodes.
  Ref add(const Table& table, const std::vector<int>& signals);
  // The same, with the highest address bit decided first.
  Ref add_in_order(const Table& table, const std::vector<int>& signals);

  struct Decision {
    int signal;
    Ref low, high;  // `high` is never complemented
  };
  const std::vector<Decision>& decisions() const { return decisions_; }  // of node i + 1

  // Verilog: the expression of a node by the names of its signal and its branches.
  std::string expression(const Decision& decision, const std::string& signal) const;
  static std::string name(Ref ref);  // "n5", "~n5", "1'b0"

 private:
  using Memo = std::unordered_map<Table, Ref>;
  Ref build(const Table& table, const std::vector<int>& order, std::size_t depth, std::vector<Memo>& memo);
  Ref decide(int signal, Ref low, Ref high);

  std::vector<Decision> decisions_;
  std::map<std::tuple<int, Ref, Ref>, Ref> unique_;
};

}  // namespace anybit::verilog
