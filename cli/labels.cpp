#include "labels.hpp"

#include <fmt/format.h>

#include <fstream>

#include "anybit/npy.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

Error bad_label(const std::string& path, const std::string& what) {
  return {Code::invalid_argument,
          fmt::format("{}: {}", path, what),
          {},
          "whole numbers: a .npy, or one on each line"};
}

template <class T>
std::vector<std::int64_t> widened(const Array& array) {
  const auto* first = reinterpret_cast<const T*>(array.bytes.data());
  return {first, first + array.bytes.size() / sizeof(T)};
}

Result<std::vector<std::int64_t>> labels_of_array(const std::string& path) {
  auto array = read_npy(path);
  if (!array.ok()) return in_file(std::move(array).error(), path);
  if (array->type == "int64") return widened<std::int64_t>(*array);
  if (array->type == "int32") return widened<std::int32_t>(*array);
  if (array->type == "int16") return widened<std::int16_t>(*array);
  if (array->type == "int8") return widened<std::int8_t>(*array);
  if (array->type == "uint8") return widened<std::uint8_t>(*array);
  return bad_label(path, fmt::format("labels of type {}", array->type));
}

}  // namespace

Result<std::vector<std::int64_t>> read_labels(const std::string& path) {
  if (path.ends_with(".npy")) return labels_of_array(path);
  std::ifstream stream(path);
  if (!stream) return Error{Code::not_found, fmt::format("cannot open '{}'", path), {}, {}};
  std::vector<std::int64_t> labels;
  for (std::int64_t label = 0; stream >> label;) labels.push_back(label);
  if (!stream.eof()) return bad_label(path, fmt::format("label {} is no whole number", labels.size() + 1));
  return labels;
}

}  // namespace anybit::cli
