// Runs a model.
//
//   auto executor = anybit::Executor::make(model, {.threads = 2});
//   auto outputs = executor->run({{"x", x}});
//
// An executor is prepared once and never changed, but for the values of its variables: copies share it, and
// any number of threads may run it at the same time. Nothing here throws.
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

// What goes into a model and comes out of it.
struct Value {
  enum class Kind { nothing, tensor, sequence } kind = Kind::nothing;  // nothing: an empty optional
  // A tensor. The type is any of ONNX's ("float32", "bfloat16", "int4"); elements of less than 8 bits take a
  // byte each. Text is in `strings`, and the type is "string".
  Array tensor;
  std::vector<std::string> strings;
  std::vector<Value> items;  // of a sequence

  Value() = default;
  Value(Array array) : kind(Kind::tensor), tensor(std::move(array)) {}
};

struct ExecutorOptions {
  int threads = 0;              // 0: one for each core
  std::int64_t max_memory = 0;  // bytes for values and prepared weights; 0: no limit
  bool fuse = true;             // nodes that one kernel can do together become one
  // Names of the model's initializers, those of its main graph, that are variables: weights that are trained.
  // They are neither folded nor packed for good, and are read and written between runs. An input with a
  // default may be one; it is no input then.
  std::vector<std::string> variables = {};
  struct Update {
    std::string variable, output;
  };
  // When a run is over, the variable has the value of the output, which is none of outputs() then: a step of
  // an optimizer. Runs that update, and writes, take turns.
  std::vector<Update> updates = {};
};

// An input or output of a model.
struct Port {
  std::string name;
  std::string type;                  // as a person would write it: "float32[1, 3, height, ?]"
  std::string element_type;          // "float32"; empty if it is not a tensor
  std::vector<std::int64_t> dims;    // -1: any
  std::vector<std::string> symbols;  // by dimension: the name of an unknown one; may be empty
  bool has_rank = false;             // false: any shape
  bool required = true;              // false: the model has a default
};

// What one run did, node by node, in order.
struct RunProfile {
  struct Entry {
    std::string name, op;                     // of the node; fused ones have the name of the first
    std::int64_t start = 0, nanoseconds = 0;  // since the run began
    std::int64_t macs = 0;                    // multiply-accumulates; 0: none, or not known
    int depth = 0;  // of graphs within nodes: those inside count in the outer ones, too
  };
  std::vector<Entry> entries;
};

class Executor {
 public:
  ANYBIT_API static Result<Executor> make(const Model& model, const ExecutorOptions& options = {}) noexcept;

  ANYBIT_API const std::vector<Port>& inputs() const noexcept;
  ANYBIT_API const std::vector<Port>& outputs() const noexcept;

  // Inputs by name; they are not copied, and must stay as they are until the run is over. Outputs in the
  // order of outputs().
  ANYBIT_API Result<std::vector<Value>> run(const std::map<std::string, Value>& inputs,
                                            RunProfile* profile = nullptr) const noexcept;

  // What was named so, in that order.
  ANYBIT_API const std::vector<Port>& variables() const noexcept;
  // The value that a variable has now. Later writes do not change it.
  ANYBIT_API Result<Value> variable(const std::string& name) const noexcept;
  // Other values, of the same types and shapes; they are copied. Either all are written, or none; a run takes
  // them as they are when it begins. Weights are packed again by the next run that needs them.
  ANYBIT_API Result<void> set_variables(const std::map<std::string, Value>& values) noexcept;
  // The model with the values that its variables have now.
  ANYBIT_API Result<Model> model() const noexcept;

  // Bytes of values and prepared weights: the most so far, and now.
  ANYBIT_API std::int64_t peak_memory() const noexcept;
  ANYBIT_API std::int64_t used_memory() const noexcept;
  // Packed weights that were decoded when the model was loaded, and the bytes they take now. Those that
  // products use as they are stay packed.
  struct Decoded {
    std::int64_t weights = 0, bytes = 0;
  };
  ANYBIT_API Decoded decoded() const noexcept;
  // Nodes left after constants were computed and nodes were fused, by operator.
  ANYBIT_API Result<std::map<std::string, std::int64_t>> steps() const noexcept;

  struct Content;

 private:
  explicit Executor(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

// A tensor from a file: .npy, .pb (ONNX's TensorProto), or raw .bin with the type and shape of `port` (one
// unknown dimension may follow from the size of the file).
ANYBIT_API Result<Value> read_value(const std::string& path, const Port& port) noexcept;
// Values to try a model with: reals from a standard normal distribution, whole numbers from 0 to 9, the same
// for the same seed. Unknown dimensions are looked up in `dims` by name; else they are 1.
ANYBIT_API Result<Value> random_value(const Port& port, const std::map<std::string, std::int64_t>& dims,
                                      std::uint64_t seed) noexcept;

}  // namespace anybit
