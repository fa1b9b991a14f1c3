// Run-time values of a model: arrays, sequences and optionals.
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

// Memory layout of a tensor [batch, channels, space…]. Operators that declare it (Descriptor::layouts) may
// get any layout; all others get `plain`.
enum class Layout : std::uint8_t {
  plain,          // row-major
  channels_last,  // [batch, space…, channels]
  blocked8,       // [batch, ceil(channels / 8), space…, 8]; the last block is padded
};

// A tensor. A 2- or 4-bit element takes a byte; see number.hpp. Copies share the elements.
class Array {
 public:
  Array() = default;

  ElementType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  Layout layout() const { return layout_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  // Number of elements, without padding.
  std::int64_t count() const { return count_; }
  // Number of elements in memory, with padding: the loop count of an elementwise operator.
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

  // The block that owns the elements; empty if another owner does: a plan's arena, the caller, an
  // initializer.
  const Block& block() const { return block_; }
  bool owned() const { return static_cast<bool>(block_) || owner_ != nullptr; }

  // An array with its own memory. Strings are empty; other elements are undefined.
  static Result<Array> make(Memory& memory, ElementType type, const Dims& dims,
                            Layout layout = Layout::plain);
  // A view of memory that somebody else keeps alive; `owner` may be null. Not for strings.
  static Array over(ElementType type, const Dims& dims, std::byte* data,
                    std::shared_ptr<const void> owner = {}, Layout layout = Layout::plain);
  // The data of an initializer: shared if it is aligned, copied otherwise; 2- and 4-bit types are unpacked.
  static Result<Array> from(const graph::Tensor& constant, Memory& memory);
  // The inverse, in ONNX's storage: shares the elements. Copies strings, 2- and 4-bit types and elements
  // without owner.
  graph::Tensor to_constant() const;

  // The same elements under other dims with the same count.
  Array reshaped(const Dims& dims) const;
  // A copy with its own memory.
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

// Size of an array in bytes; an error on overflow.
Result<std::int64_t> array_bytes(ElementType type, const Dims& dims, Layout layout);

struct Sequence;

// A run-time value of any kind. An optional is represented by its content, an empty one by `nothing`.
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
  ElementType element = ElementType::undefined;  // of its tensors, also if there are none
  std::vector<Datum> items;
};

// Operators assume that booleans are 0 or 1, and that a byte holds a 2- or 4-bit value zero-extended
// (sign-extended if signed). Callers' buffers need not be so: returns a normalized copy, or nothing if
// `given` is already normalized.
Result<std::optional<Datum>> mended(const Datum& given, Memory& memory);

// "float32[2, 3]", "a sequence of 4", "nothing".
std::string to_string(const Datum& datum);
std::string to_string(const Array& array);

}  // namespace anybit::ops
