#include "likely_size.hpp"

#include <algorithm>

namespace anybit::cli {
namespace {

constexpr std::int64_t kBatch = 1, kImage = 224, kSound = 16000, kFrames = 128, kTokens = 16;

bool is_image(const Port& port) {
  const auto channels = [&](std::size_t axis) { return port.dims[axis] == 1 || port.dims[axis] == 3; };
  return port.dims.size() == 4 && (channels(1) || channels(3));
}

}  // namespace

std::int64_t likely_size(const Port& port, std::size_t axis) {
  if (axis == 0) return kBatch;
  const bool floats = port.element_type.starts_with("float") || port.element_type == "bfloat16";
  if (is_image(port)) return kImage;
  if (!floats) return kTokens;
  // A second of sound at 16 kHz; frames of a spectrogram.
  const std::size_t rank = port.dims.size();
  const auto open =
      std::count_if(port.dims.begin() + 1, port.dims.end(), [](std::int64_t dim) { return dim < 0; });
  if (open == 1 && axis + 1 == rank) return rank == 2 ? kSound : kFrames;
  return kTokens;
}

}  // namespace anybit::cli
