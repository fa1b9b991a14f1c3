#include "tflite/file.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::tflite {
namespace {

// Tables inside tables: model, subgraph, operator, options, with room for later schemas.
constexpr flatbuffers::uoffset_t kDeepestTable = 32;
// Offsets of a flatbuffer are 32-bit and signed in places; larger files keep their data behind it.
constexpr std::size_t kLargestFlatbuffer = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kFlatbufferAlignment = 16;

Result<void> verify_flatbuffer(const Bytes& bytes, std::string_view identifier, const Limits& limits) {
  const auto tables = static_cast<flatbuffers::uoffset_t>(
      std::min<std::int64_t>(limits.records, std::numeric_limits<std::int32_t>::max()));
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                 std::min(bytes.size(), kLargestFlatbuffer - 1), kDeepestTable, tables);
  const std::string name(identifier);
  if (verifier.VerifyBuffer<wire::Model>(name.c_str())) return {};
  return error_at(Code::malformed, "byte 0", "the flatbuffer is damaged, or has more tables than the limit",
                  fmt::format("the file may be truncated; the limit is {} tables", limits.records));
}

Result<void> check_versions(const wire::Model& model, std::string_view identifier) {
  const std::uint32_t known = identifier == "TFL3" ? 3 : 0;
  if (model.version() == known) return {};
  return error_at(Code::unsupported, "version", fmt::format("the schema has version {}", model.version()),
                  fmt::format("anybit reads version {} of {} files", known, identifier));
}

Result<void> check_kinds_of_operators(const wire::Model& model) {
  const std::size_t kinds = model.operator_codes() ? model.operator_codes()->size() : 0;
  for (std::size_t g = 0; g < model.subgraphs()->size(); ++g) {
    const auto* operators = model.subgraphs()->Get(static_cast<std::uint32_t>(g))->operators();
    for (std::uint32_t i = 0; operators && i < operators->size(); ++i) {
      if (operators->Get(i)->opcode_index() < kinds) continue;
      return invalid_model(fmt::format("subgraph {}: operator {}", g, i),
                           fmt::format("its kind is entry {} of the operator codes, which has {} entries",
                                       operators->Get(i)->opcode_index(), kinds));
    }
  }
  return {};
}

Error over_budget(std::string_view what) {
  return error_at(Code::limit_exceeded, {},
                  fmt::format("reading the file takes more {} than the limit", what),
                  "the file refers to the same data from very many places; raise Limits if it is right");
}

}  // namespace

File::File(const Bytes& bytes, const Limits& limits)
    : bytes_(bytes), limits_(limits), records_left_(limits.records), operators_left_(limits.nodes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  bytes_left_ = limits.work_bytes + checked_mul<std::int64_t>(size, 8).value_or(0);
}

Result<File> File::open(const Bytes& bytes, std::string_view identifier, const Limits& limits) {
  File file(bytes.aligned(kFlatbufferAlignment), limits);
  TRY(verify_flatbuffer(file.bytes_, identifier, limits));
  file.model_ = wire::GetModel(file.bytes_.data());
  TRY(check_versions(*file.model_, identifier));
  if (!file.model_->subgraphs() || file.model_->subgraphs()->size() == 0)
    return invalid_model("the file", "it has no subgraph");
  TRY(check_kinds_of_operators(*file.model_));
  return file;
}

Result<const wire::SubGraph*> File::subgraph(std::int64_t index) const {
  if (index < 0 || index >= static_cast<std::int64_t>(subgraphs())) {
    return invalid_model(fmt::format("subgraph {}", index), "it does not exist",
                         fmt::format("the file has subgraphs 0 to {}", subgraphs() - 1));
  }
  return model_->subgraphs()->Get(static_cast<std::uint32_t>(index));
}

Result<Bytes> File::buffer(std::uint32_t index) const {
  if (index == 0) return Bytes();
  const std::uint32_t count = model_->buffers() ? model_->buffers()->size() : 0;
  if (index >= count) {
    return invalid_model(fmt::format("buffer {}", index), "it does not exist",
                         fmt::format("the file has {} buffers", count));
  }
  const wire::Buffer& buffer = *model_->buffers()->Get(index);
  if (buffer.offset() > 1) {  // 0 and 1 say that the data is inside
    if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset()) {
      return invalid_model(fmt::format("buffer {}", index),
                           fmt::format("its {} bytes at byte {} lie outside of the file of {} bytes",
                                       buffer.size(), buffer.offset(), bytes_.size()));
    }
    return bytes_.part(buffer.offset(), buffer.size());
  }
  if (!buffer.data()) return Bytes();
  const auto* start = reinterpret_cast<const std::byte*>(buffer.data()->data());
  return bytes_.part(static_cast<std::size_t>(start - bytes_.data()), buffer.data()->size());
}

Result<void> File::take_bytes(std::int64_t bytes) {
  if (bytes > bytes_left_) return over_budget("memory");
  bytes_left_ -= bytes;
  return {};
}

Result<void> File::take_records(std::int64_t count) {
  if (count > records_left_) return over_budget("records");
  records_left_ -= count;
  return {};
}

Result<void> File::take_operator() {
  if (operators_left_ == 0) return over_budget("operators");
  --operators_left_;
  return {};
}

}  // namespace anybit::tflite
