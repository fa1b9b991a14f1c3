// The execution context of an operator: its inputs, and memory for its outputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "anybit/result.hpp"
#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "base/try.hpp"
#include "ops/array.hpp"
#include "ops/finish.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// State that a node keeps between runs: packed weights, tables, primitives. Many threads use it at once.
struct Prepared {
  virtual ~Prepared() = default;
  // Bytes beyond the memory taken from Setup::memory; counted against the limit.
  virtual std::int64_t bytes() const { return 0; }
};

// Total bytes of packed matrices.
template <class Packed>
std::int64_t bytes_of_all(const std::vector<Packed>& matrices) {
  std::int64_t sum = 0;
  for (const Packed& one : matrices) sum += one.bytes();
  return sum;
}

// A node in preparation: once per model, and again after each write to a variable among its inputs.
struct Setup : Attributes {
  using Attributes::Attributes;
  std::span<const Array* const> constants;  // by input; null if it may change between runs
  Memory* memory = nullptr;
  std::int64_t output_count = 0;

  const Array* constant(std::size_t i) const { return i < constants.size() ? constants[i] : nullptr; }
};

class Frame : public Attributes {
 public:
  using Attributes::Attributes;

  // Inputs. An input that is left out, or is an empty optional, is absent.
  std::size_t input_count() const { return inputs_.size(); }
  const Datum& datum(std::size_t i) const;
  bool has(std::size_t i) const { return !datum(i).is_nothing(); }
  // A tensor input. The executor calls `check_inputs`, so the required inputs are present; test the others
  // with has().
  const Array& in(std::size_t i) const { return datum(i).array; }
  // Makes input i plain from here on: for operators that take each layout, but not every mixture.
  virtual Result<void> make_plain(std::size_t i) = 0;

  // Outputs.
  std::size_t output_count() const { return node.outputs.size(); }
  bool wants(std::size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  // Memory for output i; the elements are undefined (strings are empty). It does not overlap any input. The
  // reference is valid until the node is done.
  virtual Result<Array*> out(std::size_t i, ElementType type, const Dims& dims,
                             Layout layout = Layout::plain) = 0;
  // The same for an operator that reads each element of input `over` before it writes the same element of the
  // output, and never again: reuses the input's memory if nothing else needs it.
  virtual Result<Array*> out_over(std::size_t i, std::size_t over, ElementType type, const Dims& dims) = 0;
  // Output i is input `from` under other dims; copied only if necessary.
  virtual Result<void> share(std::size_t i, std::size_t from, const Dims& dims) = 0;
  // Output i is this value: a sequence, nothing, a forwarded input, an item of a sequence.
  virtual Result<void> set(std::size_t i, Datum value) = 0;
  // A value that may outlive this run of the node, for sequences: copied if its memory will be reused.
  virtual Result<Datum> keep(const Datum& value) = 0;

  // Scratch memory, valid until the node is done.
  virtual Result<std::byte*> scratch(std::int64_t bytes) = 0;
  template <class T>
  Result<std::span<T>> scratch_of(std::int64_t count) {
    std::byte* memory = TRY(scratch(count * static_cast<std::int64_t>(sizeof(T))));
    return std::span(reinterpret_cast<T*>(memory), static_cast<std::size_t>(count));
  }

  // Runs a graph attribute of the node and returns its outputs in order. The callee resolves outer values
  // itself. The outputs are valid until the next call of the same graph.
  virtual Result<std::span<const Datum>> call(std::string_view attribute, std::span<const Datum> inputs) = 0;

  virtual Memory& memory() = 0;
  ThreadPool& pool() const { return *pool_; }
  // The result of Descriptor::prepare; null if there is none.
  template <class T>
  const T* prepared() const {
    return static_cast<const T*>(prepared_);
  }
  // The steps to apply to output 0. An operator that takes them applies them itself, while parts of the
  // output are in the cache; otherwise the executor does.
  std::span<const FinishStep> take_finish() { return std::exchange(finish_, {}); }
  // The same for the values of input 0, before anything else. An operator to which a fusion gives such steps
  // takes them, or lets the executor apply them to a copy of the input.
  std::span<const FinishStep> take_start() { return std::exchange(start_, {}); }
  virtual Result<void> apply_start() { return {}; }
  bool is_constant(std::size_t i) const { return i < constant_.size() && constant_[i]; }

 protected:
  std::span<const Datum* const> inputs_;
  std::span<const bool> constant_;
  ThreadPool* pool_ = nullptr;
  const Prepared* prepared_ = nullptr;
  std::span<const FinishStep> finish_, start_;
};

// A small integer list (axes, shapes, pads) from an int32 or int64 input.
Result<Dims> dims_from(const Array& array, std::string_view what);
// Input i if it is present, else the attribute; nothing if neither is. For parameters that ONNX turned from
// attributes into inputs.
Result<std::optional<Dims>> dims_of(const Frame& frame, std::size_t i, std::string_view attribute);
// A single number of any type.
Result<double> scalar_from(const Array& array, std::string_view what);
Result<std::int64_t> integer_from(const Array& array, std::string_view what);

// "input 0 is int4[2, 3], which Add cannot take".
Error wrong_type(const Frame& frame, std::size_t input);

// Numpy broadcasting.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);
// Strides of an array of `dims` under the broadcast dims `to`: 0 where it is broadcast.
Dims broadcast_strides(const Dims& dims, const Dims& to);

// Number of items per task; `cost`: rough nanoseconds per item. Depends on the work alone, never on the
// number of threads.
std::int64_t part_size(std::int64_t count, double cost);

// Calls body(first, last) for parts of [0, count) on the threads.
template <class Body>
void parallel(const Frame& frame, std::int64_t count, double cost, const Body& body) {
  frame.pool().run(count, part_size(count, cost), body);
}

}  // namespace anybit::ops
