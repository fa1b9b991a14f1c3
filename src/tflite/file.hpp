// A TFLite or Circle file whose structure is checked: the flatbuffer itself, and every number in it that
// points somewhere. Source: src/tflite/tflite.fbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "tflite/tflite_generated.h"

namespace anybit::tflite {

class File {
 public:
  // `identifier`: TFL3 or CIR0, at byte 4.
  static Result<File> open(const Bytes& bytes, std::string_view identifier, const Limits& limits);

  const wire::Model& model() const { return *model_; }
  const Limits& limits() const { return limits_; }
  std::size_t subgraphs() const { return model_->subgraphs()->size(); }
  Result<const wire::SubGraph*> subgraph(std::int64_t index) const;

  // The data of a buffer; empty for buffer 0, which stands for no data.
  Result<Bytes> buffer(std::uint32_t index) const;

  // A flatbuffer may refer to one vector from many places, and a subgraph may be used by many nodes. These
  // budgets bound what a small file can expand to.
  Result<void> take_bytes(std::int64_t bytes);    // copied or computed while reading
  Result<void> take_records(std::int64_t count);  // numbers and names of the structure
  Result<void> take_operator();

 private:
  File(const Bytes& bytes, const Limits& limits);

  Bytes bytes_;
  const wire::Model* model_ = nullptr;
  Limits limits_;
  std::int64_t bytes_left_, records_left_, operators_left_;
};

}  // namespace anybit::tflite
