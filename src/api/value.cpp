#include "api/value.hpp"

#include <cmath>
#include <filesystem>
#include <random>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/mapped_file.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "io/onnx/tensor_file.hpp"

namespace anybit {

using graph::ElementType;

Result<ElementType> element_type(std::string_view name) {
  const graph::ElementTypeInfo* info = graph::find_element_type(name);
  if (!info) return invalid_argument(fmt::format("'{}' is not an element type", shown(name)));
  return info->type;
}

Result<ops::Dims> checked_dims(std::span<const std::int64_t> dims) {
  if (dims.size() > ops::Dims::kCapacity)
    return invalid_argument(fmt::format("rank {} cannot be run", dims.size()), "at most 32");
  if (!element_count(dims)) return invalid_argument("the shape is impossible");
  return ops::Dims(dims);
}

namespace {

Result<ops::Datum> tensor_datum(const Value& value) {
  const ElementType type = TRY(element_type(value.tensor.type));
  const ops::Dims dims = TRY(checked_dims(value.tensor.dims));
  if (type == ElementType::string) {
    if (static_cast<std::int64_t>(value.strings.size()) != dims.count())
      return invalid_argument(fmt::format("{} strings for shape {}", value.strings.size(), to_string(dims)));
    auto held = std::make_shared<std::vector<std::string>>(value.strings);
    auto* data = reinterpret_cast<std::byte*>(held->data());
    return ops::Datum(ops::Array::over(type, dims, data, held));
  }
  const std::int64_t bytes = TRY(ops::array_bytes(type, dims, ops::Layout::plain));
  if (static_cast<std::int64_t>(value.tensor.bytes.size()) != bytes) {
    return invalid_argument(
        fmt::format("{} bytes for {}{}", value.tensor.bytes.size(), value.tensor.type, to_string(dims)),
        fmt::format("{} bytes", bytes));
  }
  const Bytes held = Bytes(value.tensor.owner, value.tensor.bytes)
                         .aligned(std::min<std::size_t>(16, ops::element_bytes(type)));
  return ops::Datum(ops::Array::over(type, dims, const_cast<std::byte*>(held.data()), held.owner()));
}

Value tensor_value(const ops::Array& array) {
  Value value;
  value.kind = Value::Kind::tensor;
  value.tensor.type = graph::name_of(array.type());
  value.tensor.dims.assign(array.dims().begin(), array.dims().end());
  if (array.type() == ElementType::string) {
    value.strings.assign(array.data<std::string>(), array.data<std::string>() + array.count());
    return value;
  }
  const auto held = std::make_shared<const ops::Array>(array);
  value.tensor.bytes = {held->bytes(), held->byte_count()};
  value.tensor.owner = held;
  return value;
}

// Raw elements: the shape is the port's; one unknown dimension is computed from the size.
Result<Value> read_raw(const std::string& path, const Port& port) {
  const ElementType type = TRY(element_type(port.element_type));
  const auto file = TRY(MappedFile::open(path));
  if (!port.has_rank || type == ElementType::string)
    return invalid_argument("raw data has no shape", "a .npy file, since the model does not fix the shape");
  std::int64_t known = static_cast<std::int64_t>(ops::element_bytes(type));
  std::size_t open = port.dims.size();
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (port.dims[i] >= 0) {
      known = checked_mul(known, port.dims[i]).value_or(0);
    } else if (open == port.dims.size()) {
      open = i;
    } else {
      return invalid_argument("raw data has no shape",
                              "a .npy file, since more than one dimension is unknown");
    }
  }
  const auto size = static_cast<std::int64_t>(file->bytes().size());
  std::vector<std::int64_t> dims = port.dims;
  if (open < dims.size()) dims[open] = known > 0 ? size / known : 0;
  if (known <= 0 || (open < dims.size() ? dims[open] * known : known) != size)
    return invalid_argument(fmt::format("{} bytes do not fit {}", size, port.type));
  Value value;
  value.kind = Value::Kind::tensor;
  value.tensor.type = port.element_type;
  value.tensor.dims = std::move(dims);
  value.tensor.bytes = file->bytes().span();
  value.tensor.owner = file;
  value.tensor.file = file;
  return value;
}

Result<Value> read(const std::string& path, const Port& port) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".npy") return Value(TRY(read_npy(path)));
  if (ending == ".bin" || ending == ".raw") return read_raw(path, port);
  if (ending == ".pb") {
    const auto file = TRY(MappedFile::open(path));
    const graph::Tensor tensor = TRY(onnx::parse_tensor(file->bytes()));
    const auto memory = ops::Memory::make();
    return tensor_value(TRY(ops::Array::from(tensor, *memory)));
  }
  if (std::filesystem::is_directory(path)) return invalid_argument("it is a folder", ".npy, .pb or .bin");
  return invalid_argument(ending.empty()
                              ? "the file name has no extension"
                              : fmt::format("'{}' is not a supported tensor file type", shown(ending)),
                          ".npy, .pb or .bin");
}

}  // namespace

Result<ops::Datum> to_datum(const Value& value) {
  if (value.kind == Value::Kind::nothing) return ops::Datum();
  if (value.kind == Value::Kind::tensor) return tensor_datum(value);
  auto sequence = std::make_shared<ops::Sequence>();
  for (const Value& item : value.items) sequence->items.push_back(TRY(to_datum(item)));
  if (!sequence->items.empty()) sequence->element = sequence->items[0].array.type();
  return ops::Datum(std::shared_ptr<const ops::Sequence>(std::move(sequence)));
}

Value to_value(const ops::Datum& datum) {
  if (datum.is_array()) return tensor_value(datum.array);
  Value value;
  if (datum.is_nothing()) return value;
  value.kind = Value::Kind::sequence;
  for (const ops::Datum& item : datum.sequence->items) value.items.push_back(to_value(item));
  return value;
}

Result<Value> read_value(const std::string& path, const Port& port) noexcept {
  return guarded([&]() -> Result<Value> {
    auto value = read(path, port);
    if (value.ok() || value.error().text().find(path) != std::string::npos) return value;
    return std::move(value).error().within(path);
  });
}

Result<Value> random_value(const Port& port, const std::map<std::string, std::int64_t>& dims,
                           std::uint64_t seed) noexcept {
  return guarded([&]() -> Result<Value> {
    if (port.element_type.empty() || !port.has_rank) {
      return error_at(Code::invalid_argument, fmt::format("input '{}'", shown(port.name)),
                      fmt::format("cannot generate random data for {}", port.type.empty() ? "it" : port.type),
                      port.element_type.empty() ? "values other than tensors are given from Python or C++"
                                                : fmt::format("--input {}=FILE", port.name));
    }
    const ElementType type = TRY(element_type(port.element_type));
    std::vector<std::int64_t> sizes = port.dims;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 0) continue;
      const auto found = dims.find(port.symbols[i]);
      sizes[i] = found != dims.end() ? found->second : 1;
    }
    const ops::Dims shape = TRY(checked_dims(sizes));
    const auto memory = ops::Memory::make();
    auto made = ops::Array::make(*memory, type, shape);
    if (!made.ok())
      return std::move(made).error().within(
          fmt::format("input '{}' {}{}", shown(port.name), port.element_type, to_string(shape)));
    ops::Array array = std::move(made).value();
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    const bool real = ops::for_real(type, [&]<class T>(T) {
      for (T& one : array.elements<T>()) one = static_cast<T>(normal(random));
    });
    const bool integer = !real && ops::for_integer(type, [&]<class T>(T) {
      for (T& one : array.elements<T>()) one = static_cast<T>(random() % 10);
    });
    if (type == ElementType::boolean) {
      for (bool& one : array.elements<bool>()) one = random() % 2 != 0;
    } else if (!real && !integer && type != ElementType::string) {
      std::fill_n(array.mutable_bytes(), array.byte_count(), std::byte{0});
    }
    return tensor_value(array);
  });
}

}  // namespace anybit
