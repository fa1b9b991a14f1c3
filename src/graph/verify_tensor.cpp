// Tensors: valid dimensions, and exactly as much data as they need.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.hpp"
#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

std::string to_text(const std::vector<std::int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

// Dimensions of 0 count as 1 for the limit, so that strides cannot overflow either.
Result<std::int64_t> check_dims(const std::vector<std::int64_t>& dims, const Limits& limits,
                                const Place& place) {
  if (static_cast<std::int64_t>(dims.size()) > limits.rank) {
    return place.limit(fmt::format("rank {}, but at most {} is allowed", dims.size(), limits.rank));
  }
  std::int64_t count = 1;
  for (std::int64_t dim : dims) {
    if (dim < 0) return place.invalid(fmt::format("negative dimension in {}", to_text(dims)));
    const auto product = checked_mul(count, std::max<std::int64_t>(dim, 1));
    if (!product || *product > limits.elements) {
      return place.limit(fmt::format("{} has more than {} elements", to_text(dims), limits.elements));
    }
    count = *product;
  }
  return std::find(dims.begin(), dims.end(), 0) == dims.end() ? count : 0;
}

std::string_view where(const Tensor& tensor) {
  switch (tensor.storage) {
    case Storage::raw:
      return "raw data";
    case Storage::typed:
      return "typed data";
    case Storage::external:
      return "external data";
  }
  return "data";
}

Result<void> check_strings(const Tensor& tensor, std::int64_t count, const Place& place) {
  if (tensor.storage == Storage::external) return place.invalid("strings cannot be external data");
  if (!tensor.data.empty()) return place.invalid("strings cannot be raw data");
  if (static_cast<std::int64_t>(tensor.strings.size()) == count) return {};
  return place.invalid(fmt::format("string{} has {} elements, but there are {} strings", to_text(tensor.dims),
                                   count, tensor.strings.size()));
}

// Whether a row of indices comes after the previous one in row-major order.
bool in_order(const Bytes& data, std::int64_t row, std::int64_t width) {
  const auto at = [&](std::int64_t i) { return data.at<std::int64_t>(static_cast<std::size_t>(i)); };
  for (std::int64_t column = 0; column < width; ++column) {
    const std::int64_t before = at((row - 1) * width + column), here = at(row * width + column);
    if (before != here) return before < here;
  }
  return false;
}

Result<void> check_indices(const SparseTensor& sparse, std::int64_t dense_count, const Place& place) {
  const Tensor& indices = *sparse.indices;
  const std::int64_t stored = sparse.values->dims[0];
  const auto rank = static_cast<std::int64_t>(sparse.dims.size());
  if (indices.type() != ElementType::int64) return place.invalid("the indices are not int64");
  const bool linear = indices.dims == std::vector{stored};
  if (!linear && indices.dims != std::vector{stored, rank}) {
    return place.invalid(fmt::format("indices of shape {} for {} values of a tensor of rank {}",
                                     to_text(indices.dims), stored, rank),
                         fmt::format("[{}] or [{}, {}]", stored, stored, rank));
  }
  const std::int64_t width = linear ? 1 : rank;
  for (std::int64_t row = 0; row < stored; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      const auto index = indices.data.at<std::int64_t>(static_cast<std::size_t>(row * width + column));
      const std::int64_t size = linear ? dense_count : sparse.dims[static_cast<std::size_t>(column)];
      if (index < 0 || index >= size) {
        return place.invalid(fmt::format("index {} of value {} is not below {}", index, row, size));
      }
    }
    if (row > 0 && !in_order(indices.data, row, width)) {
      return place.invalid(fmt::format("the index of value {} is not above the one before it", row),
                           "sort the indices; each may occur once");
    }
  }
  return {};
}

}  // namespace

Result<void> check_tensor(const Tensor& tensor, const Limits& limits, const Place& place) {
  const ElementTypeInfo* info = find(tensor.type());
  if (!info) {
    const std::int32_t element = tensor.element.value_or(0);
    return place.invalid(element == 0 ? "the element type is not set"
                                      : fmt::format("element type {} does not exist", element));
  }
  const std::int64_t count = TRY(check_dims(tensor.dims, limits, place));
  if (info->type == ElementType::string) return check_strings(tensor, count, place);
  if (!tensor.strings.empty()) return place.invalid(fmt::format("strings in a tensor of {}", info->name));
  const auto bytes = packed_bytes(count, info->bits);
  if (!bytes) return place.limit(fmt::format("{}{} is too large", info->name, to_text(tensor.dims)));
  if (static_cast<std::uint64_t>(*bytes) == tensor.data.size()) return {};
  return place.invalid(fmt::format("{}{} takes {} bytes, but its {} has {}", info->name, to_text(tensor.dims),
                                   *bytes, where(tensor), tensor.data.size()));
}

Result<void> check_sparse(const SparseTensor& tensor, const Limits& limits, const Place& place) {
  if (!tensor.values) return place.invalid("a sparse tensor without values");
  const std::int64_t count = TRY(check_dims(tensor.dims, limits, place));
  if (tensor.dims.empty()) return place.invalid("a sparse tensor without dimensions");
  const Place values(&place, "values");
  TRY(check_tensor(*tensor.values, limits, values));
  if (tensor.values->dims.size() != 1) return values.invalid("the values are not a list (rank 1)");
  const std::int64_t stored = tensor.values->dims[0];
  if (stored > count) {
    return values.invalid(fmt::format("{} values in a tensor of {} elements", stored, count));
  }
  if (!tensor.indices) {
    if (stored == 0) return {};
    return place.invalid("a sparse tensor without indices");
  }
  const Place indices(&place, "indices");
  TRY(check_tensor(*tensor.indices, limits, indices));
  return check_indices(tensor, count, indices);
}

}  // namespace anybit::graph::verifier
