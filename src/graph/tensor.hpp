// Constant data: weights, attribute tensors. The bytes are as in ONNX's raw_data: little-endian, row-major,
// 2- and 4-bit values packed with the first in the low bits. They may be shared, and may lie in a mapped
// file, unaligned.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "base/value.hpp"
#include "graph/element_type.hpp"
#include "graph/text.hpp"

namespace anybit::graph {

static_assert(std::endian::native == std::endian::little,
              "ONNX data is little-endian; a big-endian port must swap");

// The place of a tensor's data on disk; used only by saving. If a file has the data twice (raw_data and a
// typed field), it is `raw`, as ONNX reads it; the other field is kept in `extra`.
enum class Storage { raw, typed, external };

struct Tensor {
  ANYBIT_VALUE(Tensor);
  Text name, doc;
  std::optional<std::int32_t> element;  // ONNX's number, kept even if unknown (the verifier rejects it)
  std::vector<std::int64_t> dims;
  Bytes data;                        // empty for strings
  std::vector<std::string> strings;  // for ElementType::string
  Storage storage = Storage::raw;
  bool has_data_field = true;      // raw: the field is present, possibly empty
  bool has_location = false;       // data_location is present although it has the default value
  std::vector<Property> external;  // location, offset, length, checksum, … as read; saving writes its own
  std::vector<Property> metadata;
  Extra extra;

  ElementType type() const { return static_cast<ElementType>(element.value_or(0)); }
  // The number of elements; the verifier ensures that it exists.
  std::int64_t count() const;
};

// An optional tensor in the size of a pointer: every attribute has room for a sparse tensor, and few have
// one.
class TensorBox {
 public:
  TensorBox();
  TensorBox(Tensor tensor);
  TensorBox(const TensorBox& other);
  TensorBox(TensorBox&&) noexcept;
  TensorBox& operator=(TensorBox other) noexcept;
  ~TensorBox();
  explicit operator bool() const { return tensor_ != nullptr; }
  bool has_value() const { return tensor_ != nullptr; }
  Tensor& emplace();
  void reset();
  const Tensor& operator*() const { return *tensor_; }
  Tensor& operator*() { return *tensor_; }
  const Tensor* operator->() const { return tensor_.get(); }
  Tensor* operator->() { return tensor_.get(); }

 private:
  std::unique_ptr<Tensor> tensor_;
};

struct SparseTensor {
  ANYBIT_VALUE(SparseTensor);
  TensorBox values, indices;
  std::vector<std::int64_t> dims;
  Extra extra;
};

}  // namespace anybit::graph
