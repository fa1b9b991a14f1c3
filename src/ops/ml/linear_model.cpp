// LinearClassifier and LinearRegressor. ONNX: ai.onnx.ml, version 1 of each.
#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/ml/classifier_scores.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_classifier(const Call& call) {
  Values values = unknown_outputs(call);
  const auto labels = call.texts("classlabels_strings");
  const bool texts = labels && !labels->empty();
  if (!values.empty()) values[0] = tensor(texts ? ElementType::string : ElementType::int64, unknown_shape(1));
  if (values.size() > 1) values[1] = tensor(ElementType::float32, unknown_shape(2));
  return values;
}

Result<Values> infer_regressor(const Call& call) {
  return outputs_of(call, tensor(ElementType::float32, Shape{Dim(), Dim(call.integer("targets", 1))}));
}

struct Model {
  std::span<const float> coefficients, intercepts;
  std::int64_t targets = 0;
};

Result<Model> model_of(const Frame& frame, std::int64_t targets, std::int64_t width) {
  Model model;
  model.coefficients = frame.floats("coefficients").value_or(std::span<const float>());
  model.intercepts = frame.floats("intercepts").value_or(std::span<const float>());
  model.targets = targets;
  const auto wanted = targets < 1 ? std::nullopt : checked_mul(targets, width);
  if (!wanted || static_cast<std::int64_t>(model.coefficients.size()) != *wanted ||
      (!model.intercepts.empty() && static_cast<std::int64_t>(model.intercepts.size()) != targets)) {
    return wrong(fmt::format("{} coefficients and {} intercepts for {} sums of {} features",
                             model.coefficients.size(), model.intercepts.size(), targets, width),
                 "a coefficient for each feature, an intercept for each sum");
  }
  return model;
}

void score(const Model& model, const Array& in, std::int64_t row, std::int64_t width, float* scores) {
  for (std::int64_t t = 0; t < model.targets; ++t) {
    double sum =
        model.intercepts.empty() ? 0 : static_cast<double>(model.intercepts[static_cast<std::size_t>(t)]);
    for (std::int64_t i = 0; i < width; ++i) {
      sum += feature_at(in, row * width + i) *
             static_cast<double>(model.coefficients[static_cast<std::size_t>(t * width + i)]);
    }
    scores[t] = static_cast<float>(sum);
  }
}

Result<void> run_regressor(Frame& frame) {
  const Rows rows = TRY(rows_of(frame));
  const Model model = TRY(model_of(frame, frame.integer("targets", 1), rows.width));
  const Transform how = TRY(transform_of(frame.text("post_transform", "NONE")));
  Array* out = TRY(frame.out(0, ElementType::float32, {rows.count, model.targets}));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    float* scores = out->mutable_data<float>() + row * model.targets;
    score(model, frame.in(0), row, rows.width, scores);
    transform(how, {scores, static_cast<std::size_t>(model.targets)});
  }
  return {};
}

// With a single sum for two classes, it is the score of the second.
Result<void> run_classifier(Frame& frame) {
  const Rows rows = TRY(rows_of(frame));
  const Labels labels = TRY(Labels::of(frame, "classlabels_strings", "classlabels_ints"));
  const auto coefficients = frame.floats("coefficients");
  const std::int64_t sums =
      coefficients && rows.width > 0 ? static_cast<std::int64_t>(coefficients->size()) / rows.width : 0;
  const Model model = TRY(model_of(frame, sums, rows.width));
  const Transform how = TRY(transform_of(frame.text("post_transform", "NONE")));
  const bool pair = sums == 1 && labels.count() == 2;
  if (!pair && static_cast<std::size_t>(sums) > labels.count())
    return wrong(fmt::format("{} classes have {} labels", sums, labels.count()), "a label for each class");
  const std::int64_t width = pair ? 2 : sums;
  Array* chosen = TRY(labels.output(frame, rows.count));
  Array* out = TRY(frame.out(1, ElementType::float32, {rows.count, width}));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    float* scores = out->mutable_data<float>() + row * width;
    score(model, frame.in(0), row, rows.width, scores);
    if (pair) {
      labels.put(chosen, row, scores[0] > 0 ? 1 : 0);
      if (how == Transform::logistic || how == Transform::probit) transform(how, {scores, 1});
      transform_pair(Transform::none, true, scores[0], scores);
    } else {
      labels.put(chosen, row, winner({scores, static_cast<std::size_t>(sums)}));
      transform(how, {scores, static_cast<std::size_t>(sums)});
    }
  }
  return {};
}

}  // namespace

std::span<const Descriptor> linear_model_descriptors() {
  static const Descriptor all[] = {
      {.name = "LinearClassifier",
       .domain = "ai.onnx.ml",
       .since = {1},
       .infer = infer_classifier,
       .run = run_classifier},
      {.name = "LinearRegressor",
       .domain = "ai.onnx.ml",
       .since = {1},
       .infer = infer_regressor,
       .run = run_regressor},
  };
  return all;
}

}  // namespace anybit::ops
