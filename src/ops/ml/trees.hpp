// Decision tree ensembles, read from the attributes of TreeEnsemble, TreeEnsembleClassifier or
// TreeEnsembleRegressor.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/frame.hpp"

namespace anybit::ops {

struct Trees final : Prepared {
  enum class Mode : std::uint8_t { leq, lt, gte, gt, eq, neq, member };  // in the order of TreeEnsemble-5
  struct Node {
    std::int64_t feature = 0;
    Mode mode = Mode::leq;
    bool missing_is_true = false;  // branch for NaN
    double split = 0;
    std::int64_t yes = 0, no = 0;     // child node; ~leaf if negative
    std::size_t first = 0, last = 0;  // range of its set members
  };
  struct Vote {
    std::size_t target;
    double weight;
  };
  struct Leaf {
    std::size_t first = 0, last = 0;  // range of its votes
  };
  std::vector<Node> nodes;
  std::vector<Leaf> leaves;
  std::vector<Vote> votes;
  std::vector<double> members;
  std::vector<std::int64_t> roots;  // encoded like children
  std::vector<double> base;
  std::size_t targets = 0;
  std::int64_t features = 0;  // least number of features in a row

  // The votes of the leaf that a row reaches.
  std::span<const Vote> fall(std::int64_t root, const Array& in, std::int64_t row_start) const;
};

// TreeEnsemble-5.
Result<std::shared_ptr<const Trees>> trees_by_index(const Attributes& node);
// TreeEnsembleClassifier and TreeEnsembleRegressor; the votes are in the attributes `prefix`_ids, … ("class"
// or "target").
Result<std::shared_ptr<const Trees>> trees_by_id(const Attributes& node, std::string_view prefix,
                                                 std::size_t targets);

}  // namespace anybit::ops
