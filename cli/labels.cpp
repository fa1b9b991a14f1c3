#include "labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>

#include "anybit/npy.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

Error bad_label(const std::string& path, const std::string& what) {
  return {Code::invalid_argument,
          fmt::format("{}: {}", path, what),
          {},
          "integers: a .npy, or text with one per line"};
}

template <class T>
std::vector<std::int64_t> as_int64(const Array& array) {
  const auto* first = reinterpret_cast<const T*>(array.bytes.data());
  return {first, first + array.bytes.size() / sizeof(T)};
}

Result<std::vector<std::int64_t>> labels_of_array(const std::string& path) {
  auto array = read_npy(path);
  if (!array.ok()) return in_file(std::move(array).error(), path);
  if (array->type == "int64") return as_int64<std::int64_t>(*array);
  if (array->type == "int32") return as_int64<std::int32_t>(*array);
  if (array->type == "int16") return as_int64<std::int16_t>(*array);
  if (array->type == "int8") return as_int64<std::int8_t>(*array);
  if (array->type == "uint8") return as_int64<std::uint8_t>(*array);
  return bad_label(path, fmt::format("labels of type {}", array->type));
}

Result<std::vector<std::int64_t>> labels_of_text(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return Error{Code::not_found, fmt::format("cannot open '{}'", path), {}, {}};
  std::vector<std::int64_t> labels;
  for (std::int64_t label = 0; stream >> label;) labels.push_back(label);
  if (!stream.eof()) return bad_label(path, fmt::format("label {} is not an integer", labels.size() + 1));
  return labels;
}

// The last axis holds the classes.
std::size_t rows_of(const Value& scores) {
  std::size_t rows = 1;
  const std::vector<std::int64_t>& dims = scores.tensor.dims;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) rows *= static_cast<std::size_t>(dims[i]);
  return rows;
}

}  // namespace

Result<std::vector<std::int64_t>> read_labels(const std::string& path) {
  auto labels = path.ends_with(".npy") ? labels_of_array(path) : labels_of_text(path);
  if (labels.ok() && labels->empty()) return bad_label(path, "there are no labels");
  return labels;
}

Result<void> LabelCounter::add(const Value& scores) {
  const auto rest = std::span(labels_).subspan(static_cast<std::size_t>(hits_.rows));
  const std::size_t taken = single_ ? rest.size() : std::min(rest.size(), rows_of(scores));
  auto hits = count_hits(scores, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(taken)});
  if (!hits.ok()) return std::move(hits).error();
  hits_.rows += hits->rows;
  hits_.top1 += hits->top1;
  hits_.top5 += hits->top5;
  return {};
}

Result<Hits> LabelCounter::finish(bool spare) const {
  if (spare || std::ssize(labels_) == hits_.rows) return hits_;
  return Error{Code::invalid_argument,
               fmt::format("{} labels for {} rows of scores", labels_.size(), hits_.rows),
               {},
               "one label per row"};
}

}  // namespace anybit::cli
