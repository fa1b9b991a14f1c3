// TensorProto to graph::Tensor: raw, typed or external data. Redundant data fields are preserved.
#include <utility>

#include "base/error.hpp"
#include "base/try.hpp"
#include "io/onnx/from_wire.hpp"
#include "io/onnx/typed_data.hpp"

namespace anybit::onnx {
namespace {

using graph::ElementType;
using graph::Storage;
using graph::Tensor;

constexpr std::int32_t kDefaultLocation = 0, kExternalLocation = 1;

std::string place_of(const wire::Tensor& message) {
  return message.has_name() ? fmt::format("tensor '{}'", shown(message.name())) : "a tensor without a name";
}

// raw_data, from the message or set aside; empty if there is none.
std::optional<Bytes> take_raw(wire::Tensor& message, const Sources& sources) {
  if (message.has_raw_data()) {
    Bytes bytes = Bytes::own(std::move(*message.mutable_raw_data()));
    message.clear_raw_data();
    return bytes;
  }
  if (sources.set_aside.empty()) return std::nullopt;
  const auto found = sources.set_aside.find(&message);
  if (found == sources.set_aside.end()) return std::nullopt;
  const auto offset = static_cast<std::size_t>(found->second.data() - sources.file.data());
  return sources.file.part(offset, found->second.size());
}

// Serialized data fields that ONNX readers ignore here, such as float_data beside raw_data; saving writes
// them back.
std::string take_ignored(wire::Tensor& message, const std::optional<Bytes>& raw) {
  wire::Tensor ignored;
  ignored.mutable_float_data()->Swap(message.mutable_float_data());
  ignored.mutable_int32_data()->Swap(message.mutable_int32_data());
  ignored.mutable_string_data()->Swap(message.mutable_string_data());
  ignored.mutable_int64_data()->Swap(message.mutable_int64_data());
  ignored.mutable_double_data()->Swap(message.mutable_double_data());
  ignored.mutable_uint64_data()->Swap(message.mutable_uint64_data());
  if (raw) ignored.set_raw_data(std::string(raw->text()));
  return ignored.SerializeAsString();
}

bool has_typed_data(const wire::Tensor& message) {
  return message.float_data_size() != 0 || message.int32_data_size() != 0 ||
         message.string_data_size() != 0 || message.int64_data_size() != 0 ||
         message.double_data_size() != 0 || message.uint64_data_size() != 0;
}

// Chooses the data in ONNX's order of precedence: external, raw, typed.
Result<void> take_data(wire::Tensor& message, const Sources& sources, Tensor& tensor) {
  std::optional<Bytes> raw = take_raw(message, sources);
  tensor.has_data_field = raw.has_value();
  if (message.data_location() == kExternalLocation) {
    tensor.storage = Storage::external;
    tensor.data = TRY(sources.external.read(tensor));
    raw.reset();  // ignored by readers; if kept, it would be read once the data is saved inside
  } else if (raw) {
    tensor.data = *std::exchange(raw, std::nullopt);
  } else if (typed_count(message, tensor.type()) != 0) {
    tensor.storage = Storage::typed;
    tensor.data = TRY(take_typed(message, tensor.type()));
    if (tensor.type() == ElementType::string) {
      tensor.strings.reserve(static_cast<std::size_t>(message.string_data_size()));
      for (std::string& text : *message.mutable_string_data()) tensor.strings.push_back(std::move(text));
      message.clear_string_data();
    }
  }
  if (raw || has_typed_data(message)) {
    tensor.extra = graph::Extra(std::string(tensor.extra.bytes()) + take_ignored(message, raw));
  }
  return {};
}

Result<void> check_location(const wire::Tensor& message) {
  const std::int32_t location = message.data_location();
  if (location == kDefaultLocation || location == kExternalLocation) return {};
  return invalid_model({}, fmt::format("data_location is {}", location),
                       "ONNX knows 0 (inside) and 1 (external)");
}

}  // namespace

Result<void> take_tensor(wire::Tensor& message, const Sources& sources, Tensor& tensor) {
  tensor.element = ANYBIT_TAKE_NUMBER(message, data_type);
  tensor.dims.assign(message.dims().begin(), message.dims().end());
  tensor.has_location = message.has_data_location() && message.data_location() == kDefaultLocation;
  tensor.external = take_properties(message.mutable_external_data());
  tensor.metadata = take_properties(message.mutable_metadata_props());
  tensor.extra = take_extra(message);
  auto taken = check_location(message);
  if (taken.ok()) taken = take_data(message, sources, tensor);
  if (!taken.ok()) return std::move(taken).error().within(place_of(message));
  tensor.name = ANYBIT_TAKE_TEXT(message, name);
  tensor.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  return {};
}

}  // namespace anybit::onnx
