/// @file
/// Inference: runs a model on the CPU.
///
/// @code{.cpp}
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto executor = anybit::Executor::make(*model, {.threads = 2});
/// if (!executor) return;
/// auto x = anybit::Array::from_floats(std::vector<float>(28 * 28), {1, 1, 28, 28});
/// if (!x) return;
/// auto outputs = executor->run({{"image", *x}});
/// if (!outputs) return;
/// auto scores = (*outputs)[0].tensor.to_floats();
/// @endcode
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/npy.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// An input or output value: a tensor, a sequence, or an empty optional. Copies share the data.
struct Value {
  enum class Kind { nothing, tensor, sequence } kind = Kind::nothing;  ///< nothing: an empty optional
  /// The tensor, of any ONNX type ("float32", "bfloat16", "int4"). Elements of fewer than 8 bits take one
  /// byte each. For a tensor of type "string" the elements are in `strings`.
  Array tensor;
  std::vector<std::string> strings;  ///< elements of a string tensor
  std::vector<Value> items;          ///< elements of a sequence

  Value() = default;
  Value(Array array) : kind(Kind::tensor), tensor(std::move(array)) {}
};

/// Options of Executor::make().
struct ExecutorOptions {
  int threads = 0;              ///< 0: one per core
  std::int64_t max_memory = 0;  ///< bytes of activations and prepared weights; 0: no limit
  bool fuse = true;             ///< fuse nodes that one kernel can compute
  /// Initializers of the main graph that are variables, for example weights that are trained. They are not
  /// folded or packed ahead of time, and can be read and written between runs. An input with a default value
  /// may be a variable; it is then no longer an input.
  std::vector<std::string> variables = {};
  /// Assigns an output to a variable at the end of every run, as a step of an optimizer does.
  struct Update {
    std::string variable, output;
  };
  /// Outputs that are assigned to variables at the end of a run. They are not among outputs(). Runs with
  /// updates and calls of set_variables() are serialized.
  std::vector<Update> updates = {};
};

/// The description of an input, output or variable of a model.
struct Port {
  std::string name;
  std::string type;                  ///< in readable form: "float32[1, 3, height, ?]"
  std::string element_type;          ///< "float32"; empty if it is not a tensor
  std::vector<std::int64_t> dims;    ///< -1: dynamic
  std::vector<std::string> symbols;  ///< names of the dynamic dimensions, by index; may be empty
  bool has_rank = false;             ///< false: any rank
  bool required = true;              ///< false: the model has a default value
};

/// The times of one run, node by node, in execution order.
struct RunProfile {
  struct Entry {
    std::string name, op;                     ///< of the node; fused nodes have the name of the first
    std::int64_t start = 0, nanoseconds = 0;  ///< start relative to the start of the run, and duration
    std::int64_t macs = 0;                    ///< multiply-accumulates; 0: none, or unknown
    int depth = 0;  ///< nesting of subgraphs; the time of inner nodes is included in the outer node
  };
  std::vector<Entry> entries;
};

/// A model prepared for inference. Copies are cheap and share the prepared model; any number of threads may
/// run it at the same time. It is immutable, apart from the values of its variables.
class Executor {
 public:
  /// Prepares a model: folds constants, fuses nodes, packs weights. Independent of `model` afterwards.
  ANYBIT_API static Result<Executor> make(const Model& model, const ExecutorOptions& options = {}) noexcept;

  /// Returns the inputs and outputs. The references are valid as long as a copy of the executor lives.
  ANYBIT_API const std::vector<Port>& inputs() const noexcept;
  ANYBIT_API const std::vector<Port>& outputs() const noexcept;

  /// Runs the model. `inputs` are given by name; their data is not copied and must not change during the run.
  /// Returns the outputs in the order of outputs(). If `profile` is not null it receives the times of the
  /// nodes.
  ANYBIT_API Result<std::vector<Value>> run(const std::map<std::string, Value>& inputs,
                                            RunProfile* profile = nullptr) const noexcept;

  /// Returns the variables, in the order of ExecutorOptions::variables.
  ANYBIT_API const std::vector<Port>& variables() const noexcept;
  /// Returns the current value of a variable. Later writes do not affect the returned value.
  ANYBIT_API Result<Value> variable(const std::string& name) const noexcept;
  /// Sets variables to values of the same types and shapes, which are copied. Either all are set or, on
  /// error, none. A run uses the values at its start. The next run that uses a changed weight packs it again.
  ANYBIT_API Result<void> set_variables(const std::map<std::string, Value>& values) noexcept;
  /// Returns the model with the current values of its variables as initializers.
  ANYBIT_API Result<Model> model() const noexcept;

  /// Returns the bytes of activations and prepared weights: the maximum so far, and the current number.
  ANYBIT_API std::int64_t peak_memory() const noexcept;
  ANYBIT_API std::int64_t used_memory() const noexcept;
  /// Packed weights that were decoded to float32 when the model was prepared: their number and the bytes they
  /// take. Weights that have a kernel for packed data are not decoded.
  struct Decoded {
    std::int64_t weights = 0, bytes = 0;
  };
  /// Returns the numbers of decoded weights.
  ANYBIT_API Decoded decoded() const noexcept;
  /// Returns the number of nodes that remain after constant folding and fusion, by operator.
  ANYBIT_API Result<std::map<std::string, std::int64_t>> steps() const noexcept;

  struct Content;

 private:
  explicit Executor(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

/// Reads a tensor from a file: .npy, .pb (ONNX TensorProto), or raw .bin with the type and shape of `port`,
/// of which one dynamic dimension may follow from the size of the file.
ANYBIT_API Result<Value> read_value(const std::string& path, const Port& port) noexcept;
/// Returns random values for an input: floats from a standard normal distribution, integers from 0 to 9. The
/// same seed gives the same values. Dynamic dimensions are looked up in `dims` by name, and are 1 otherwise.
ANYBIT_API Result<Value> random_value(const Port& port, const std::map<std::string, std::int64_t>& dims,
                                      std::uint64_t seed) noexcept;

}  // namespace anybit
