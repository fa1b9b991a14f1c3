#include "api/sample_array.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/image_layout.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "graph/element_type.hpp"
#include "ops/convert.hpp"

namespace anybit {
namespace {

using graph::ElementType;

std::string shape_text(const std::vector<std::int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

bool is_real(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}
bool is_integer(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8 || type == ElementType::int16 ||
         type == ElementType::uint16 || type == ElementType::int32 || type == ElementType::uint32 ||
         type == ElementType::int64;
}

// Converts float types to each other, and integer types to int64 or int32: numpy produces float64 and int64
// by default. Any other mismatch is rejected by the model.
Result<Array> as_type(Array array, const std::string& wanted) {
  const graph::ElementTypeInfo* from = graph::find_element_type(array.type);
  const graph::ElementTypeInfo* to = graph::find_element_type(wanted);
  if (!from || !to || from->type == to->type) return array;
  const bool wider = to->type == ElementType::int64 || (to->type == ElementType::int32 && from->bits < 32);
  const bool fits = (is_real(from->type) && is_real(to->type)) || (is_integer(from->type) && wider);
  if (!fits) return array;
  const std::size_t width = static_cast<std::size_t>(from->bits) / 8, count = array.bytes.size() / width;
  const auto bytes = checked_mul(count, static_cast<std::size_t>(to->bits) / 8);
  const auto wanted_count = element_count(array.dims);
  if (!bytes || !wanted_count || static_cast<std::size_t>(*wanted_count) != count)
    return invalid_argument("the array's size does not fit its shape");
  std::vector<std::byte> values(*bytes);
  ops::convert(from->type, array.bytes.data(), to->type, values.data(), *wanted_count);
  Array result;
  result.type = wanted;
  result.dims = array.dims;
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(values));
  result.bytes = *held;
  result.owner = held;
  return result;
}

Result<void> read_at(int descriptor, std::size_t offset, std::span<std::byte> to, const std::string& path) {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", path, errno);
    if (count == 0) return error_at(Code::data_lost, {}, fmt::format("'{}' became shorter", shown(path)));
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

namespace {

Result<SampleArray> split(const Port& port, Array array, bool whole) {
  SampleArray result{port, std::move(array), {}, 1};
  const std::vector<std::int64_t>& dims = result.array.dims;
  const std::size_t rank = dims.size(), wanted = port.dims.size();
  result.dims = dims;
  if (!port.has_rank) return result;
  const auto give = [&](std::int64_t count, std::vector<std::int64_t> each) {
    result.count = count;
    result.dims = std::move(each);
    return std::move(result);
  };
  if (rank == wanted + 1) return give(dims[0], {dims.begin() + 1, dims.end()});
  if (rank + 1 == wanted && (port.dims[0] == 1 || port.dims[0] == -1)) {
    std::vector<std::int64_t> each = dims;
    each.insert(each.begin(), 1);
    return give(1, std::move(each));
  }
  if (rank != wanted) {
    return invalid_argument(fmt::format("an array {} has no samples of {}", shape_text(dims), port.type),
                            "the input's shape, with one dimension more for several samples");
  }
  if (wanted < 2 || dims[0] == port.dims[0] || (whole && port.dims[0] < 0)) return result;
  const std::int64_t rows = port.dims[0] < 0 ? 1 : port.dims[0];
  if (rows == 0 || dims[0] % rows != 0) {
    return invalid_argument(fmt::format("{} rows cannot be cut into samples of {}", dims[0], port.type),
                            fmt::format("a multiple of {} rows", rows));
  }
  std::vector<std::int64_t> each = dims;
  each[0] = rows;
  return give(dims[0] / rows, std::move(each));
}

}  // namespace

Result<SampleArray> SampleArray::make(const Port& port, Array array, const SampleOptions& options) {
  SampleArray result = TRY(split(port, std::move(array), options.for_run));
  TRY(result.take_pixels(options));
  return result;
}

// Bytes for an input of floating-point numbers are pixels if the caller says how to scale them.
Result<void> SampleArray::take_pixels(const SampleOptions& options) {
  const graph::ElementTypeInfo* to = graph::find_element_type(port.element_type);
  if (array.type != "uint8" || !to || !is_real(to->type)) return {};
  if (!scales_pixels(options)) {
    return invalid_argument(fmt::format("the array is uint8, but the input takes {}", port.element_type),
                            "if these are pixels, --scale 1 makes them 0 to 1, and --scale 255 keeps 0 to "
                            "255; --mean and --std follow");
  }
  std::int64_t channels = 1;
  channel_axis = dims.size();
  if (dims.size() == port.dims.size() && (dims.size() == 3 || dims.size() == 4)) {
    channel_axis = TRY(image_layout_of(port, options.layout)).channel_axis;
    channels = dims[channel_axis];
  }
  pixels = TRY(PixelScaling::make(options, channels));
  return {};
}

Array SampleArray::scaled(const Array& bytes) const {
  std::int64_t inner = 1, channels = 1;
  if (channel_axis < dims.size()) {
    channels = dims[channel_axis];
    for (std::size_t axis = channel_axis + 1; axis < dims.size(); ++axis) inner *= dims[axis];
  }
  std::vector<float> values(bytes.bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t channel = static_cast<std::int64_t>(i) / inner % channels;
    values[i] = (*pixels)(static_cast<float>(std::to_integer<std::uint8_t>(bytes.bytes[i])), channel);
  }
  const auto held = std::make_shared<const std::vector<float>>(std::move(values));
  Array result;
  result.type = "float32";
  result.dims = bytes.dims;
  result.bytes = std::as_bytes(std::span(*held));
  result.owner = held;
  return result;
}

// Read, not mapped: mapped pages stay in memory, and a file may hold any number of samples.
Result<std::vector<std::byte>> SampleArray::read(std::size_t begin, std::size_t size) const {
  const auto bytes = array.bytes.subspan(begin, size);
  std::vector<std::byte> copy(size);
  const bool large = array.file && array.file->bytes().size() > kSmall;
  const int descriptor = large ? ::open(array.file->path().c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) {
    if (size > 0) std::memcpy(copy.data(), bytes.data(), size);
  } else {
    const auto offset = static_cast<std::size_t>(bytes.data() - array.file->bytes().data());
    auto done = read_at(descriptor, offset, copy, array.file->path());
    ::close(descriptor);
    TRY(std::move(done));
  }
  TRY(array.intact());
  return copy;
}

Result<Value> SampleArray::at(std::int64_t index) const {
  const std::size_t each = array.bytes.size() / static_cast<std::size_t>(count);
  const auto held =
      std::make_shared<const std::vector<std::byte>>(TRY(read(static_cast<std::size_t>(index) * each, each)));
  Array one;
  one.type = array.type;
  one.dims = dims;
  one.bytes = *held;
  one.owner = held;
  if (pixels && !one.bytes.empty()) one = scaled(one);
  return Value(TRY(as_type(std::move(one), port.element_type)));
}

}  // namespace anybit
