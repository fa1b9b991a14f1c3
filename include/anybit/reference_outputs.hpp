/// @file
/// The outputs of a float model, kept so that it runs once for several comparisons on the same samples.
///
/// @code{.cpp}
/// #include "anybit/compare.hpp"
/// #include "anybit/quantize.hpp"
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// auto recipe = anybit::Recipe::preset("int8");
/// if (!inputs || !recipe) return;
/// auto samples = anybit::open_samples(*inputs, {"samples/"});
/// if (!samples) return;
/// anybit::QuantizeOptions quantizing;
/// anybit::CompareOptions comparing;
/// quantizing.outputs = comparing.shared = anybit::ReferenceOutputs();
/// comparing.layers = false;
/// auto made = anybit::quantize(*model, *recipe, &*samples, quantizing);
/// if (!made || !samples->rewind()) return;
/// auto comparison = anybit::compare(*model, made->model, *samples, comparing);
/// @endcode
#pragma once

#include <cstdint>
#include <memory>

#include "anybit/export.hpp"

namespace anybit {

/// Copies share their content. May be used by several threads.
class ReferenceOutputs {
 public:
  /// `max_bytes`: outputs that do not fit are computed again. `max_samples`: only those of the first samples
  /// are kept, each in its share of the bytes; 0: no limit.
  ANYBIT_API explicit ReferenceOutputs(std::int64_t max_bytes = std::int64_t{512} << 20,
                                       std::int64_t max_samples = 0);

  struct Content;

 private:
  friend struct ReferenceOutputsAccess;
  std::shared_ptr<Content> content_;
};

}  // namespace anybit
