/// @file
/// Single operators on the caller's memory and threads, for runtimes that call anybit's kernels for nodes of
/// their graphs. libanybit_ort.so connects them to ONNX Runtime (docs/onnxruntime-library.md). To run a whole
/// model, use executor.hpp.
///
/// @code{.cpp}
/// struct Host final : anybit::OperatorHost {
///   std::vector<float> values;
///   anybit::Result<void*> output(std::size_t, std::string_view, std::span<const std::int64_t> dims) override
///   {
///     values.resize(static_cast<std::size_t>(dims[0] * dims[1]));
///     return static_cast<void*>(values.data());
///   }
/// };
///
/// anybit::OperatorNode node{.domain = "ai.anybit", .op_type = "QuantizeDequantize"};
/// node.attributes["format"] = std::string("mxfp4_e2m1 axis=1 block_size=32");
/// auto rounding = anybit::Operator::make(node);
/// if (!rounding) return;
/// const std::vector<float> x(2 * 64, 0.3f);
/// const std::int64_t dims[] = {2, 64};
/// const anybit::TensorView input{"float32", dims, x.data()};
/// Host host;
/// auto done = rounding->run({&input, 1}, host);
/// @endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// An attribute of a node.
using OperatorAttribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;

/// A tensor in the caller's memory: row-major, without gaps. A tensor without a type stands for an input that
/// is left out.
struct TensorView {
  std::string_view type = {};  ///< "float32", "uint8", …: the types that Array has
  std::span<const std::int64_t> dims = {};
  const void* data = nullptr;
};

/// The node to run.
struct OperatorNode {
  std::string domain, op_type;
  std::string name = {};  ///< for messages; may be empty
  std::map<std::string, OperatorAttribute> attributes = {};
  int opset = 1;           ///< version of the domain's operators in the model
  std::size_t inputs = 1;  ///< number of inputs, including those left out in the middle
  /// Inputs that are the same in every run, by index; those without a type may change. Weights are packed
  /// once if they are constant. The memory must outlive the operator.
  std::vector<TensorView> constants = {};
};

/// What the caller provides while an operator runs.
class ANYBIT_API OperatorHost {
 public:
  virtual ~OperatorHost();
  /// Returns memory for an output of this type and shape. It must not overlap any input.
  virtual Result<void*> output(std::size_t index, std::string_view type,
                               std::span<const std::int64_t> dims) = 0;
  /// Calls task(data, i) for each i in [0, count), in any order, on any threads, and returns when all calls
  /// have returned. The default calls them one after the other.
  virtual void parallel(std::size_t count, void (*task)(void* data, std::size_t i), void* data);
};

/// An operator with its attributes and constant inputs. Immutable: copies are cheap, and any number of
/// threads may run it at the same time.
class Operator {
 public:
  /// Prepares an operator with one output. Code::not_found if anybit has no such operator.
  ANYBIT_API static Result<Operator> make(const OperatorNode& node) noexcept;

  /// Runs the operator. `inputs`: one for each input of the node; data of constant inputs is not read again.
  ANYBIT_API Result<void> run(std::span<const TensorView> inputs, OperatorHost& host) const noexcept;

 private:
  struct State;
  explicit Operator(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace anybit
