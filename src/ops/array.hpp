// Values while a model runs: arrays, and lists of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "graph/tensor.hpp"
#include "ops/dims.hpp"
#include "ops/memory.hpp"
#include "ops/number.hpp"

namespace anybit::ops {

// How the elements of a tensor [batch, channels, space…] lie in memory. All but `plain` are for operators
// that say they can take them (Descriptor::layouts); the others get plain ones.
enum class Layout : std::uint8_t {
  plain,          // row-major
  channels_last,  // [batch, space…, channels]
  blocked8,       // [batch, ceil(channels / 8), space…, 8]; channels that are too many are padding
};

// A tensor. Elements of 2- and 4-bit types take a byte each; see number.hpp. Copies share the elements.
class Array {
 public:
  Array() = default;

  ElementType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  Layout layout() const { return layout_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  // Elements, without padding.
  std::int64_t count() const { return count_; }
  // Elements in memory, padding included: what an operator that treats each alone goes over.
  std::int64_t stored() const;

  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  std::span<const T> elements() const {
    return {data<T>(), static_cast<std::size_t>(stored())};
  }
  template <class T>
  std::span<T> elements() {
    return {mutable_data<T>(), static_cast<std::size_t>(stored())};
  }
  const std::byte* bytes() const { return data_; }
  std::byte* mutable_bytes() { return data_; }
  std::size_t byte_count() const { return static_cast<std::size_t>(stored()) * element_bytes(type_); }

  // What keeps the elements alive; nothing if they lie in a plan's arena, or with the caller.
  const Block& block() const { return block_; }
  bool owned() const { return static_cast<bool>(block_) || owner_ != nullptr; }

  // An array with memory of its own. Strings are empty, everything else is undefined.
  static Result<Array> make(Memory& memory, ElementType type, const Dims& dims,
                            Layout layout = Layout::plain);
  // Over memory that somebody else keeps alive; `owner` may be null. Not for strings.
  static Array over(ElementType type, const Dims& dims, std::byte* data,
                    std::shared_ptr<const void> owner = {}, Layout layout = Layout::plain);
  // The data of a constant: shared where it lies well, copied otherwise; small types are unpacked.
  static Result<Array> from(const graph::Tensor& constant, Memory& memory);
  // The other way, as ONNX stores it: the elements are shared unless they are packed or not owned.
  graph::Tensor to_constant() const;

  // The same elements under other dims of the same count.
  Array reshaped(const Dims& dims) const;
  // A copy with memory of its own.
  Result<Array> copy(Memory& memory) const;

 private:
  Array(ElementType type, const Dims& dims, Layout layout);

  ElementType type_ = ElementType::undefined;
  Layout layout_ = Layout::plain;
  Dims dims_;
  std::int64_t count_ = 0;
  std::byte* data_ = nullptr;
  Block block_;
  std::shared_ptr<const void> owner_;
};

// Bytes that an array takes; an error if they cannot be counted.
Result<std::int64_t> array_bytes(ElementType type, const Dims& dims, Layout layout);

struct Sequence;

// A value of any kind. An optional that holds something is that thing; an empty one is nothing.
struct Datum {
  enum class Kind : std::uint8_t { nothing, array, sequence } kind = Kind::nothing;
  Array array;
  std::shared_ptr<const Sequence> sequence;

  Datum() = default;
  Datum(Array value) : kind(Kind::array), array(std::move(value)) {}
  Datum(std::shared_ptr<const Sequence> value) : kind(Kind::sequence), sequence(std::move(value)) {}
  bool is_array() const { return kind == Kind::array; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_nothing() const { return kind == Kind::nothing; }
};

struct Sequence {
  ElementType element = ElementType::undefined;  // of its tensors, for empty ones
  std::vector<Datum> items;
};

// Operators rely on booleans of 0 and 1, and on codes of few bits that have nothing else in their bytes. What
// callers give need not be so: the value as operators want it; nothing if it is so already.
Result<std::optional<Datum>> mended(const Datum& given, Memory& memory);

// "float32[2, 3]", "a sequence of 4", "nothing".
std::string to_string(const Datum& datum);
std::string to_string(const Array& array);

}  // namespace anybit::ops
