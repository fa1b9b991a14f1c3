// TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor: votes of decision trees. ONNX: ai.onnx.ml
// TreeEnsemble-5, TreeEnsembleClassifier-1, -3, -5, TreeEnsembleRegressor-1, -3, -5.
#include <algorithm>
#include <limits>

#include "ops/ml/classifier_scores.hpp"
#include "ops/ml/trees.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum class Aggregate { average, sum, min, max };  // in the order of TreeEnsemble-5

std::size_t target_count(const Attributes& node) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, node.integer("n_targets", 1)));
}

Result<Values> infer_values(const Call& call) {
  const bool old = call.node.op_type.str() == "TreeEnsembleRegressor";
  return outputs_of(call, tensor(old ? ElementType::float32 : call.in(0).type,
                                 Shape{Dim(), Dim(static_cast<std::int64_t>(target_count(call)))}));
}

Result<Values> infer_classes(const Call& call) {
  Values values = unknown_outputs(call);
  const auto labels = call.texts("classlabels_strings");
  const bool texts = labels && !labels->empty();
  if (!values.empty()) values[0] = tensor(texts ? ElementType::string : ElementType::int64, unknown_shape(1));
  if (values.size() > 1) values[1] = tensor(ElementType::float32, unknown_shape(2));
  return values;
}

std::size_t label_count(const Attributes& node) {
  const auto texts = node.texts("classlabels_strings");
  const auto numbers = node.ints("classlabels_int64s");
  // As in Labels: integers only if there are no strings.
  return texts && !texts->empty() ? texts->size() : numbers ? numbers->size() : 0;
}

Result<std::shared_ptr<const Trees>> trees_of(const Attributes& node) {
  const std::string& name = node.node.op_type.str();
  if (name == "TreeEnsemble") return trees_by_index(node);
  if (name == "TreeEnsembleRegressor") return trees_by_id(node, "target", target_count(node));
  return trees_by_id(node, "class", label_count(node));
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return std::shared_ptr<const Prepared>(TRY(trees_of(setup)));
}

// The prepared trees of the node, or newly built ones.
Result<std::shared_ptr<const Trees>> trees_in(const Frame& frame, const Rows& rows) {
  const Trees* kept = frame.prepared<Trees>();
  // Non-owning: the node outlives its runs.
  auto trees =
      kept ? std::shared_ptr<const Trees>(std::shared_ptr<const Trees>(), kept) : TRY(trees_of(frame));
  if (trees->features > rows.width)
    return wrong(fmt::format("the trees use {} features, but rows have {}", trees->features, rows.width));
  return trees;
}

void aggregate(const Trees& trees, Aggregate how, const Array& in, std::int64_t row_start,
               std::span<double> scores) {
  const double start = how == Aggregate::min   ? std::numeric_limits<double>::infinity()
                       : how == Aggregate::max ? -std::numeric_limits<double>::infinity()
                                               : 0.0;
  std::ranges::fill(scores, start);
  for (const std::int64_t root : trees.roots) {
    for (const Trees::Vote& vote : trees.fall(root, in, row_start)) {
      double& score = scores[vote.target];
      score = how == Aggregate::min   ? std::min(score, vote.weight)
              : how == Aggregate::max ? std::max(score, vote.weight)
                                      : score + vote.weight;
    }
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == start) scores[i] = 0;  // no votes
    if (how == Aggregate::average) scores[i] /= static_cast<double>(trees.roots.size());
    if (i < trees.base.size()) scores[i] += trees.base[i];
  }
}

Result<Aggregate> aggregate_of(const Frame& frame) {
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string_view name = frame.text("aggregate_function", "SUM");
  const auto found = std::ranges::find(kNames, name);
  if (found != std::end(kNames)) return static_cast<Aggregate>(found - kNames);
  return wrong(fmt::format("aggregate_function is '{}'", shown(name)), "AVERAGE, SUM, MIN or MAX");
}

Result<void> put_values(Frame& frame, Aggregate how, Transform after, ElementType type) {
  const Rows rows = TRY(rows_of(frame));
  const auto trees = TRY(trees_in(frame, rows));
  const auto targets = static_cast<std::int64_t>(trees->targets);
  if (!for_real(type, [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, type, {rows.count, targets}));
  for_real(type, [&]<class T>(T) {
    parallel(frame, rows.count, 100.0 * static_cast<double>(trees->roots.size()),
             [&](std::int64_t first, std::int64_t last) {
               std::vector<double> scores(trees->targets);
               std::vector<float> transformed(trees->targets);
               for (std::int64_t row = first; row < last; ++row) {
                 aggregate(*trees, how, frame.in(0), row * rows.width, scores);
                 std::ranges::transform(scores, transformed.begin(),
                                        [](double x) { return static_cast<float>(x); });
                 if (after != Transform::none) {
                   transform(after, transformed);
                   std::ranges::copy(transformed, scores.begin());
                 }
                 for (std::int64_t i = 0; i < targets; ++i) {
                   out->mutable_data<T>()[row * targets + i] =
                       static_cast<T>(static_cast<Computed<T>>(scores[static_cast<std::size_t>(i)]));
                 }
               }
             });
  });
  return {};
}

Result<void> run_regressor(Frame& frame) {
  const Transform after = TRY(transform_of(frame.text("post_transform", "NONE")));
  return put_values(frame, TRY(aggregate_of(frame)), after, ElementType::float32);
}

Result<void> run_ensemble(Frame& frame) {
  const std::int64_t how = frame.integer("aggregate_function", 1), after = frame.integer("post_transform", 0);
  if (how < 0 || how > 3) return wrong(fmt::format("aggregate_function is {}", how), "0 to 3");
  if (after < 0 || after > 4) return wrong(fmt::format("post_transform is {}", after), "0 to 4");
  return put_values(frame, static_cast<Aggregate>(how), static_cast<Transform>(after), frame.in(0).type());
}

// Binary classifier with all votes for one class: that score decides. Without negative weights the scores are
// probabilities.
struct Pair {
  bool single = false, share = true;
};

Pair pair_of(const Trees& trees) {
  Pair pair{trees.targets == 2 && !trees.votes.empty(), true};
  for (const Trees::Vote& vote : trees.votes) {
    pair.single = pair.single && vote.target == trees.votes[0].target;
    pair.share = pair.share && vote.weight >= 0;
  }
  return pair;
}

Result<void> run_classifier(Frame& frame) {
  const Rows rows = TRY(rows_of(frame));
  const auto trees = TRY(trees_in(frame, rows));
  const Labels labels = TRY(Labels::of(frame, "classlabels_strings", "classlabels_int64s"));
  const Transform after = TRY(transform_of(frame.text("post_transform", "NONE")));
  const auto classes = static_cast<std::int64_t>(trees->targets);
  Array* chosen = TRY(labels.output(frame, rows.count));
  Array* out = TRY(frame.out(1, ElementType::float32, {rows.count, classes}));
  const Pair pair = pair_of(*trees);
  std::vector<double> scores(trees->targets);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    aggregate(*trees, Aggregate::sum, frame.in(0), row * rows.width, scores);
    float* to = out->mutable_data<float>() + row * classes;
    std::ranges::transform(scores, to, [](double x) { return static_cast<float>(x); });
    const std::span<float> all(to, trees->targets);
    if (pair.single) {
      const std::size_t voted = trees->votes[0].target;
      labels.put(chosen, row, to[voted] > (pair.share ? 0.5f : 0.0f) ? 1 : 0);
      // As in ONNX Runtime: votes for the second class leave the score of the first one at 0.
      if (voted == 0) {
        transform_pair(after, pair.share, to[0], to);
      } else {
        transform(after, all);
      }
    } else {
      labels.put(chosen, row, winner(all));
      transform(after, all);
    }
  }
  return {};
}

constexpr Descriptor trees(std::string_view name, Versions since, Infer infer, Run run) {
  return {
      .name = name, .domain = "ai.onnx.ml", .since = since, .infer = infer, .run = run, .prepare = prepare};
}

}  // namespace

std::span<const Descriptor> tree_ensemble_descriptors() {
  static const Descriptor all[] = {
      trees("TreeEnsemble", {5}, infer_values, run_ensemble),
      trees("TreeEnsembleClassifier", {1, 3, 5}, infer_classes, run_classifier),
      trees("TreeEnsembleRegressor", {1, 3, 5}, infer_values, run_regressor),
  };
  return all;
}

}  // namespace anybit::ops
