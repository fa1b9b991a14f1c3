// Entries: onnx.proto's comment on TensorProto.external_data. A checksum is preserved but not checked: that
// would read the whole file, which is mapped so that it can be read in parts.
#include "io/onnx/external_data.hpp"

#include <charconv>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::onnx {
namespace {

// The last of several entries with the same key is valid, as in a dictionary.
const std::string* entry(const graph::Tensor& tensor, std::string_view key) {
  const std::string* found = nullptr;
  for (const graph::Property& property : tensor.external) {
    if (property.key == key) found = &property.value.str();
  }
  return found;
}

Result<std::uint64_t> number(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc() && stop == end && !text.empty()) return value;
  return invalid_model(
      {}, fmt::format("external data: {} '{}' is not an integer from 0 to 2^64 - 1", key, shown(text)));
}

Result<std::uint64_t> length_by_shape(const graph::Tensor& tensor) {
  const graph::ElementTypeInfo* info = graph::find(tensor.type());
  if (!info || info->bits == 0) {
    return invalid_model({},
                         fmt::format("{} cannot be stored as external data", graph::name_of(tensor.type())));
  }
  const auto count = element_count(tensor.dims);
  const auto bytes = count ? packed_bytes(*count, info->bits) : std::nullopt;
  if (!bytes) return invalid_model({}, "the dimensions are negative, or their product is too large");
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace

Result<Bytes> ExternalData::file(const std::string& name) {
  if (const auto found = files_.find(name); found != files_.end()) return found->second;
  if (!folder_) folder_ = TRY(Folder::open(path_));
  const int descriptor = TRY(open_beneath(*folder_, name, links_));
  const auto mapped = TRY(MappedFile::from_descriptor(descriptor, folder_->path() + "/" + name));
  sources_.push_back(mapped);
  return files_.emplace(name, mapped->bytes()).first->second;
}

Result<Bytes> ExternalData::read(const graph::Tensor& tensor) {
  const std::string* location = entry(tensor, "location");
  if (!location) return invalid_model({}, "the data is external, but has no entry 'location'");
  if (path_.empty()) {
    return error_at(Code::not_found, {}, fmt::format("the data lies in the file '{}'", shown(*location)),
                    "a model in memory has no folder: load it from its file, or name the folder of its data");
  }
  const std::string* offset_text = entry(tensor, "offset");
  const std::string* length_text = entry(tensor, "length");
  const std::uint64_t offset = offset_text ? TRY(number(*offset_text, "offset")) : 0;
  const std::uint64_t length =
      length_text ? TRY(number(*length_text, "length")) : TRY(length_by_shape(tensor));
  const Bytes whole = TRY(file(*location));
  const auto end = checked_add(offset, length);
  if (!end || *end > whole.size()) {
    return invalid_model(
        {}, fmt::format("external data: offset {} and length {} reach beyond the {} bytes of '{}'", offset,
                        length, whole.size(), shown(*location)));
  }
  return whole.part(offset, length);
}

}  // namespace anybit::onnx
