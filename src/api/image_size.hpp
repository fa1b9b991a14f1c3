// How an image gets the size of an input: stretched, letterboxed, cropped, or by its shorter side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

struct DecodedImage {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<float> pixels;  // row by row, channels interleaved, 0 to 255
};

struct Resizing {
  enum class Mode { stretch, letterbox, crop, shorter } mode = Mode::stretch;
  float border = 114;        // of a letterbox: the gray that YOLO's tools pad with
  std::int64_t shorter = 0;  // before a crop; 0: as large as the crop needs
};

// Of SampleOptions::resize.
Result<Resizing> resizing_of(const std::string& text);

// A height or width of 0 stays that of the image.
Result<DecodedImage> with_size(DecodedImage image, const Resizing& resizing, std::int64_t height,
                               std::int64_t width);

}  // namespace anybit
