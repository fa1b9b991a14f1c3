#include "formats/grouping.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::formats {
namespace {

constexpr std::size_t kMostDims = 32;

std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Result<std::int64_t> resolve_axis(std::int64_t axis, std::int64_t rank) {
  if (rank == 0 && (axis == 0 || axis == -1)) return 0;
  if (axis < -rank || axis >= rank) {
    return invalid_argument(
        fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank),
        rank == 0 ? "a single value has no axis" : fmt::format("from {} to {}", -rank, rank - 1));
  }
  return axis < 0 ? axis + rank : axis;
}

// An axis of length 0 still has blocks of extent 1; there are none of them.
std::int64_t clamp_extent(std::int64_t extent, std::int64_t dim) {
  return std::clamp<std::int64_t>(extent, 1, std::max<std::int64_t>(dim, 1));
}

Result<void> place_block(const Descriptor& format, const GroupingOptions& options, Grouping& grouping) {
  const auto rank = static_cast<std::int64_t>(grouping.dims.size());
  if (!options.block.empty()) {
    if (options.axis || options.block_size) {
      return invalid_argument("a block shape and a block size cannot both be given", "one of them");
    }
    if (options.block.size() > grouping.dims.size()) {
      return invalid_argument(
          fmt::format("a block of rank {} does not fit a tensor of rank {}", options.block.size(), rank),
          "one number for each of the last dimensions, at most the tensor's rank");
    }
    const std::size_t first = grouping.dims.size() - options.block.size();
    for (std::size_t i = 0; i < options.block.size(); ++i) {
      const std::int64_t extent = options.block[i], dim = grouping.dims[first + i];
      if (extent != -1 && extent < 1) {
        return invalid_argument(fmt::format("block size {} is not possible", extent),
                                "1 or more, or -1 for the whole dimension");
      }
      grouping.box[first + i] = clamp_extent(extent == -1 ? dim : extent, dim);
    }
    return {};
  }
  const std::int64_t size = options.block_size.value_or(format.block_size);
  if (!options.block_size && size == 0) {
    return invalid_argument(fmt::format("format {} in blocks needs a block size", format.name),
                            "block_size: values along the axis that share parameters; for example, 32");
  }
  if (size < 1) return invalid_argument(fmt::format("block size {} is not possible", size), "1 or more");
  const std::int64_t axis = TRY(resolve_axis(options.axis.value_or(-1), rank));
  if (rank == 0) return {};
  const auto index = static_cast<std::size_t>(axis);
  grouping.box[index] = clamp_extent(size, grouping.dims[index]);
  grouping.pack_axis = axis;
  return {};
}

Result<Granularity> granularity_of(const Descriptor& format, const GroupingOptions& options) {
  const bool block_given = options.block_size || !options.block.empty();
  const bool may_have_blocks =
      format.granularity == Granularity::tensor || format.granularity == Granularity::element;
  const Granularity preset = block_given && may_have_blocks ? Granularity::block : format.granularity;
  const Granularity asked = options.granularity.value_or(preset);
  if (asked == Granularity::element && format.granularity != Granularity::element) {
    return invalid_argument(fmt::format("format {} needs groups that share parameters", format.name),
                            "granularity tensor, channel or block");
  }
  if (block_given && asked != Granularity::block) {
    return invalid_argument(fmt::format("a block is given, but the granularity is {}", name_of(asked)),
                            "granularity block, or no block");
  }
  if (options.axis && asked == Granularity::tensor && !options.granularity) {
    return invalid_argument(
        fmt::format("axis {} has no effect: the default granularity of {} is the whole tensor", *options.axis,
                    format.name),
        "granularity channel, or a block size");
  }
  return asked;
}

}  // namespace

GroupingOptions with_profile(const Descriptor& format, const Values& values, GroupingOptions options) {
  const auto profile = values.find("profile");
  const bool is_mase = profile != values.end() && profile->second == Value(std::string("mase"));
  const bool given = options.granularity || options.block_size || !options.block.empty();
  if (!is_mase || format.granularity != Granularity::tensor || given) return options;
  options.granularity = Granularity::channel;
  if (!options.axis) options.axis = 0;
  return options;
}

std::int64_t Grouping::groups() const { return product(grid); }
std::int64_t Grouping::size() const { return product(box); }
std::int64_t Grouping::count() const { return product(dims); }

Result<Grouping> resolve(const Descriptor& format, const Dims& dims, const GroupingOptions& given,
                         const Values& values) {
  const GroupingOptions options = with_profile(format, values, given);
  if (dims.size() > kMostDims) {
    return error_at(Code::limit_exceeded, {}, fmt::format("rank {} is more than {}", dims.size(), kMostDims));
  }
  if (!element_count(dims)) {
    return invalid_argument(fmt::format("dimensions [{}] are not possible", fmt::join(dims, ", ")),
                            "none negative, and fewer than 2^63 elements in all");
  }
  const auto rank = static_cast<std::int64_t>(dims.size());
  Grouping grouping;
  grouping.granularity = TRY(granularity_of(format, options));
  grouping.dims = dims;
  grouping.pack_axis = std::max<std::int64_t>(rank - 1, 0);
  grouping.box.assign(dims.size(), 1);
  switch (grouping.granularity) {
    case Granularity::element:
    case Granularity::tensor:
    case Granularity::channel: {
      for (std::size_t d = 0; d < dims.size(); ++d) grouping.box[d] = clamp_extent(dims[d], dims[d]);
      const std::int64_t axis = TRY(resolve_axis(options.axis.value_or(-1), rank));
      if (grouping.granularity == Granularity::channel && rank > 0)
        grouping.box[static_cast<std::size_t>(axis)] = 1;
      break;
    }
    case Granularity::block:
      TRY(place_block(format, options, grouping));
      break;
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    grouping.grid.push_back(dims[d] / grouping.box[d] + (dims[d] % grouping.box[d] != 0));
  }
  return grouping;
}

}  // namespace anybit::formats
