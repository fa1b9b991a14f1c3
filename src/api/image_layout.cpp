#include "api/image_layout.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

bool is_channels(std::int64_t dim) { return dim == 1 || dim == 3; }

Result<bool> channels_first(const Port& port, const std::string& layout) {
  std::string letters = layout;
  for (char& c : letters) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (letters == "NCHW" || letters == "CHW") return true;
  if (letters == "NHWC" || letters == "HWC") return false;
  if (!letters.empty())
    return invalid_argument(fmt::format("layout '{}' is not known", shown(layout)), "NCHW or NHWC");
  const std::size_t rank = port.dims.size();
  return is_channels(port.dims[rank - 3]) || !is_channels(port.dims[rank - 1]);
}

}  // namespace

Result<ImageLayout> image_layout_of(const Port& port, const std::string& layout) {
  const std::size_t rank = port.dims.size();
  const bool takes = port.has_rank && (rank == 4 || rank == 3);
  if (!takes || (rank == 4 && port.dims[0] > 1)) {
    return invalid_argument(
        fmt::format("an image cannot be the input {}", port.type.empty() ? "this" : port.type),
        "an input [1, channels, height, width] or [1, height, width, channels]");
  }
  const bool first = TRY(channels_first(port, layout));
  ImageLayout found{
      .rank = rank, .channel_axis = first ? rank - 3 : rank - 1, .height_axis = first ? rank - 2 : rank - 3};
  found.channels = std::max<std::int64_t>(port.dims[found.channel_axis], 0);
  found.height = std::max<std::int64_t>(port.dims[found.height_axis], 0);
  found.width = std::max<std::int64_t>(port.dims[found.height_axis + 1], 0);
  return found;
}

}  // namespace anybit
