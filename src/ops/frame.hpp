// What an operator works with while a model runs: its inputs, and memory for its outputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "anybit/result.hpp"
#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "base/try.hpp"
#include "ops/array.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// What a node keeps from run to run: packed weights, tables, primitives. Many threads use it at once.
struct Prepared {
  virtual ~Prepared() = default;
  // What it takes beside memory that Setup::memory gave: counted against the limit.
  virtual std::int64_t bytes() const { return 0; }
};

// Packed matrices altogether.
template <class Packed>
std::int64_t bytes_of_all(const std::vector<Packed>& matrices) {
  std::int64_t sum = 0;
  for (const Packed& one : matrices) sum += one.bytes();
  return sum;
}

// A node that is being prepared: once for each model, or after each write of a variable among its inputs.
struct Setup : Attributes {
  using Attributes::Attributes;
  std::span<const Array* const> constants;  // by input; null if each run may have another
  Memory* memory = nullptr;
  std::int64_t output_count = 0;

  const Array* constant(std::size_t i) const { return i < constants.size() ? constants[i] : nullptr; }
};

class Frame : public Attributes {
 public:
  using Attributes::Attributes;

  // Inputs. One that is left out, or is an empty optional, is not there.
  std::size_t input_count() const { return inputs_.size(); }
  const Datum& datum(std::size_t i) const;
  bool has(std::size_t i) const { return !datum(i).is_nothing(); }
  // An input that is a tensor. `check_inputs` of the executor has made sure that those that the operator
  // must have are there; others are asked for with has().
  const Array& in(std::size_t i) const { return datum(i).array; }
  // From here on input i is plain: for operators that take each layout, but not every mixture.
  virtual Result<void> make_plain(std::size_t i) = 0;

  // Outputs.
  std::size_t output_count() const { return node.outputs.size(); }
  bool wants(std::size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  // Memory for output i; the elements are undefined (strings are empty). It does not overlap any input. The
  // reference holds until the node is done.
  virtual Result<Array*> out(std::size_t i, ElementType type, const Dims& dims,
                             Layout layout = Layout::plain) = 0;
  // The same for an operator that reads each element of input `over` before it writes that of the output,
  // and never again: the memory is that of the input where nobody else needs it.
  virtual Result<Array*> out_over(std::size_t i, std::size_t over, ElementType type, const Dims& dims) = 0;
  // Output i is input `from` under other dims; nothing is copied unless it must be.
  virtual Result<void> share(std::size_t i, std::size_t from, const Dims& dims) = 0;
  // Output i is this value: a sequence, nothing, an input passed on, an item of a sequence.
  virtual Result<void> set(std::size_t i, Datum value) = 0;
  // A value that may outlive this run of the node, for sequences: copied if its memory will be reused.
  virtual Result<Datum> keep(const Datum& value) = 0;

  // Memory for intermediate results, until the node is done.
  virtual Result<std::byte*> scratch(std::int64_t bytes) = 0;
  template <class T>
  Result<std::span<T>> scratch_of(std::int64_t count) {
    std::byte* memory = TRY(scratch(count * static_cast<std::int64_t>(sizeof(T))));
    return std::span(reinterpret_cast<T*>(memory), static_cast<std::size_t>(count));
  }

  // Runs a graph attribute of the node; its outputs in order. Outer values that it uses are found by it.
  // They hold until the next call of the same graph.
  virtual Result<std::span<const Datum>> call(std::string_view attribute, std::span<const Datum> inputs) = 0;

  virtual Memory& memory() = 0;
  ThreadPool& pool() const { return *pool_; }
  // What Descriptor::prepare made; null if the operator has none.
  template <class T>
  const T* prepared() const {
    return static_cast<const T*>(prepared_);
  }
  bool is_constant(std::size_t i) const { return i < constant_.size() && constant_[i]; }

 protected:
  std::span<const Datum* const> inputs_;
  std::span<const bool> constant_;
  ThreadPool* pool_ = nullptr;
  const Prepared* prepared_ = nullptr;
};

// Inputs as small lists of whole numbers: axes, shapes, pads. int32 and int64 are read.
Result<Dims> dims_from(const Array& array, std::string_view what);
// Input i if it is there, else the attribute; nothing if neither is given. For what moved from an attribute
// to an input.
Result<std::optional<Dims>> dims_of(const Frame& frame, std::size_t i, std::string_view attribute);
// A single number of any type.
Result<double> scalar_from(const Array& array, std::string_view what);
Result<std::int64_t> integer_from(const Array& array, std::string_view what);

// "element type int4 is not supported by Add" with the types that are.
Error wrong_type(const Frame& frame, std::size_t input);

// Numpy's broadcasting.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);
// Strides of an array of `dims` seen under the broadcast dims `to`: 0 where it is stretched.
Dims broadcast_strides(const Dims& dims, const Dims& to);

// How many of `count` pieces of work a part should hold; `cost`: rough nanoseconds for one. It depends on the
// work alone, never on the number of threads.
std::int64_t part_size(std::int64_t count, double cost);

// Calls body(first, last) for parts of [0, count) on the threads.
template <class Body>
void parallel(const Frame& frame, std::int64_t count, double cost, const Body& body) {
  frame.pool().run(count, part_size(count, cost), body);
}

}  // namespace anybit::ops
