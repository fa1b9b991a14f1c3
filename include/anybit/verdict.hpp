/// @file
/// The verdict on a quantized model, part of a comparison: is it still good, which part of which output is
/// not, and what to try next. docs/verdict.md has the thresholds.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// #include "anybit/compare.hpp"
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
/// const anybit::Verdict& verdict = comparison->verdict;
/// std::printf("%s: %s\n", anybit::to_string(verdict.level).c_str(), verdict.reason.c_str());
/// @endcode
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// A part of a model output: channels with one scale and one kind of values, found from the data. An output
/// of one kind has one part. verdict_of() (anybit/verdict.hpp) judges parts.
struct OutputPart {
  std::string output;  ///< name of the output
  /// "classes": rows of class scores along `axis`. "probabilities": all values are in [0, 1]. "state": fits
  /// an input of a recurrent model, and does not decide. "values": anything else.
  std::string kind = "values";
  std::int64_t axis = -1;             ///< axis of the channels or classes; -1: none
  std::int64_t first = 0, last = -1;  ///< the channels; last < first: all of them
  std::int64_t count = 0;             ///< elements
  double sqnr = 0, cosine = 1;        ///< as in Difference
  /// "classes": rows, and rows where both models choose the same class. If most rows have one class (blank,
  /// background), rows where both choose it do not count.
  std::int64_t rows = 0, agreed = 0;
  /// "classes": the Jensen-Shannon divergence of the probabilities in nats, its mean over these rows: 0 if
  /// they are the same. The measure of sensitivity(), since it grows with every change.
  double divergence = 0;
  /// "probabilities": a decision threshold, and the values above it in the reference, in the other model, and
  /// in both.
  double threshold = 0;
  std::int64_t before = 0, after = 0, both = 0;
};

/// How good a model is, compared with its reference.
enum class Level {
  unknown,   ///< nothing could be compared
  ok,        ///< as good as the reference for most uses
  degraded,  ///< visibly worse
  broken,    ///< not usable
};

/// Returns "ok", "degraded", "broken" or "unknown".
ANYBIT_API std::string to_string(Level level);

/// The verdict on one part of an output.
struct PartVerdict {
  OutputPart part;
  Level level = Level::unknown;
  std::string reason;  ///< "output0, channels 4-83 (scores): 1.4 dB, keeps 0 of 31 above 0.25"
};

/// The verdict on a model.
struct Verdict {
  Level level = Level::unknown;
  std::string reason;  ///< a sentence about the worst part, or about the accuracy if there are labels
  std::string recipe;  ///< the preset to try next; empty if the model is ok, or if none is wider
  std::vector<PartVerdict> parts;  ///< worst first
};

/// Returns a verdict by the caller's own measure, which takes the place of guesses: `before` and `after` are
/// its values for the reference and the other model, and larger is better. ok: at most 1 % of `before` is
/// lost; degraded: at most 5 %. `other` is the model that is judged: its formats decide which preset to try.
ANYBIT_API Result<Verdict> judged_by(Verdict verdict, const std::string& measure, double before, double after,
                                     const Model& other) noexcept;

/// Returns the verdict as a JSON object, the same in all results of anybit in JSON.
ANYBIT_API std::string to_json(const Verdict& verdict);

}  // namespace anybit
