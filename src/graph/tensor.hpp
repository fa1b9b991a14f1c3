// Constant data: weights, attribute tensors. The bytes are as in ONNX's raw_data: little-endian, row-major,
// 4- and 2-bit values packed low bits first. They may be shared, and may lie in a mapped file at any
// alignment.
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

// Where a tensor's data was, or is to be, on disk. Only saving looks at this. Data that a file states twice
// (raw_data and a typed field) is `raw`, as ONNX reads it; the other field goes to `extra`, and so survives.
enum class Storage { raw, typed, external };

struct Tensor {
  ANYBIT_VALUE(Tensor);
  Text name, doc;
  std::optional<std::int32_t> element;  // ONNX's number, kept even if unknown (the verifier refuses it)
  std::vector<std::int64_t> dims;
  Bytes data;                        // empty for strings
  std::vector<std::string> strings;  // for ElementType::string
  Storage storage = Storage::raw;
  bool has_data_field = true;      // raw: the field is there, though it may be empty
  bool has_location = false;       // data_location was written out although it is the default
  std::vector<Property> external;  // location, offset, length, checksum, … as read; saving writes its own
  std::vector<Property> metadata;
  Extra extra;

  ElementType type() const { return static_cast<ElementType>(element.value_or(0)); }
  // Checked by the verifier, so that a loaded tensor always has one.
  std::int64_t count() const;
};

// An optional tensor that takes a pointer's room: an attribute has room for a sparse tensor, and few are one.
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
