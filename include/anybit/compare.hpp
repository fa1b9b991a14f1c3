/// @file
/// Accuracy comparison: runs two models on the same samples, usually a float model and its quantized version,
/// and measures how much their outputs and activations differ.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// auto model = anybit::Model::load("model.onnx");
/// auto quantized = anybit::Model::load("model.q.onnx");
/// if (!model || !quantized) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"images/"});
/// if (!samples) return;
/// auto comparison = anybit::compare(*model, *quantized, *samples);
/// if (!comparison) return;
/// for (const anybit::Difference& output : comparison->outputs)
///   std::printf("%s: %.1f dB\n", output.name.c_str(), output.sqnr);
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/reference_outputs.hpp"
#include "anybit/result.hpp"
#include "anybit/samples.hpp"
#include "anybit/verdict.hpp"

namespace anybit {

/// The difference of a value between the two models, over all samples.
struct Difference {
  std::string name;  ///< of the value in the reference model
  std::string op;    ///< operator that produces it; empty for model outputs
  std::string node;  ///< name of the node that produces it, which `--exclude` takes; empty for model outputs
  /// The node computes on quantized values or weights in the other model. Float and pass-through nodes only
  /// forward the error of others.
  bool quantized = false;
  std::int64_t count = 0;  ///< elements
  /// SQNR in dB: 10·log10(Σx² / Σ(x − y)²). 200 if there is no difference; -Inf if only one of the models has
  /// NaN.
  double sqnr = 0;
  double cosine = 1;         ///< cosine similarity
  double largest_error = 0;  ///< maximum of |x − y|
  double largest_value = 0;  ///< maximum of |x| in the reference
  /// Samples that are excluded because the models give different shapes, which can depend on the data.
  std::int64_t skipped = 0;
};

/// A thumbnail: rows of pixels, each with its channels.
struct Thumbnail {
  std::int64_t width = 0, height = 0, channels = 0;  ///< 1 or 3 channels; 0: no thumbnail
  std::vector<std::uint8_t> pixels;
};

/// The error on one sample.
struct SampleError {
  std::int64_t sample = 0;  ///< its number, from 0
  double sqnr = 0;          ///< of the worst output, as in Difference
  Thumbnail thumbnail;      ///< of the first input that is an image
};

/// The result of compare().
struct Comparison {
  std::int64_t samples = 0;
  Verdict verdict;                         ///< is `other` still good
  std::vector<Difference> outputs;         ///< model outputs, in the order of the reference
  std::vector<Difference> layers;          ///< activations that both models have, in execution order
  std::vector<std::string> remarks;        ///< what could not be compared, and why
  std::vector<SampleError> worst_samples;  ///< some of the samples with the lowest SQNR, lowest first
  /// If the first output has rows of class scores along its last axis: the number of rows, and of those where
  /// both models have the same largest score. 0 for outputs that do not behave like class scores.
  std::int64_t rows = 0, agreed = 0;
  /// With labels: the number of labelled rows, and of correct top-1 and top-5 predictions of each model.
  std::int64_t labelled = 0;
  std::int64_t reference_top1 = 0, reference_top5 = 0, other_top1 = 0, other_top5 = 0;
};

/// Options of compare().
struct CompareOptions {
  int threads = 0;                   ///< 0: one per core
  std::int64_t max_memory = 0;       ///< bytes of activations of each model; 0: no limit
  bool layers = true;                ///< compare intermediate activations, too
  std::vector<std::int64_t> labels;  ///< one per row of scores, in order; empty: none
  bool spare_labels = false;         ///< allow more labels than rows, as when samples are limited
  std::function<void(std::int64_t done)> progress = {};  ///< called with the number of finished samples
  /// Without `layers`: shared by comparisons of the same reference on the same samples, and by the
  /// quantize() that calibrated on them.
  std::optional<ReferenceOutputs> shared = {};
};

/// Compares two models. A value of the reference is compared with the value of the same name in `other`, or
/// with its dequantized value ("x_DequantizeLinear_Output"). Random operators without a seed draw the same
/// numbers in both models. `samples` is read to its end.
ANYBIT_API Result<Comparison> compare(const Model& reference, const Model& other, Samples& samples,
                                      const CompareOptions& options = {}) noexcept;

/// Classification accuracy of one model: the number of rows of scores, and of correct top-1 and top-5
/// predictions.
struct Hits {
  std::int64_t rows = 0, top1 = 0, top5 = 0;
};
/// Counts correct predictions. `scores` is a model output with one row (along the last axis) per label.
ANYBIT_API Result<Hits> count_hits(const Value& scores, const std::vector<std::int64_t>& labels) noexcept;

}  // namespace anybit
