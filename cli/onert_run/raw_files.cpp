#include "raw_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "anybit/write_file.hpp"

namespace anybit::cli {

Result<std::map<std::string, Value>> read_raw(const std::string& prefix, const std::vector<Port>& inputs) {
  std::map<std::string, Value> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string path = fmt::format("{}.{}", prefix, i);
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return Error{Code::not_found, fmt::format("cannot open '{}'", path), {}, "one file for each input"};
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::byte> bytes(text.size());
    std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    std::vector<std::int64_t> dims = inputs[i].dims;
    std::ranges::replace(dims, -1, 1);
    auto array = Array::from_bytes(inputs[i].element_type, std::move(bytes), dims);
    if (!array.ok()) return std::move(array).error().within(path);
    values.emplace(inputs[i].name, Value(std::move(array).value()));
  }
  return values;
}

Result<void> write_raw(const std::string& prefix, const std::vector<Value>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].kind != Value::Kind::tensor)
      return Error{
          Code::unsupported, fmt::format("output {} is not a tensor", i), {}, "only tensors have raw files"};
    const auto& bytes = outputs[i].tensor.bytes;
    auto written = write_file(fmt::format("{}.{}", prefix, i),
                              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!written.ok()) return written;
  }
  return {};
}

}  // namespace anybit::cli
