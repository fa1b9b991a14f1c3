// Changes of training images: moved, mirrored, mixed with others. The float model says what each changed
// image is, so they need no labels; which changes fit is decided by its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/sample_store.hpp"

namespace anybit::train {

// By seed and step. Images: float32 inputs of rank 4 with at most four channels.
struct Augmentation {
  bool shift = false;  // by up to a tenth of its size; what lies outside is mirrored at the edge
  bool flip = false;   // left and right exchanged, every second time
  bool mix = false;    // every second image is a weighted mean of two (mixup, Zhang et al., ICLR 2018)
  std::uint64_t seed = 0, step = 0;

  bool any() const { return shift || flip || mix; }
};

// "none", or some of shift, flip and mix, joined by commas. "auto" changes nothing by itself.
Result<Augmentation> augmentation_named(std::string_view text, std::uint64_t seed);
std::string name_of(const Augmentation& change);

// Whether the sample has exactly one input that is an image of at least 16 by 16 pixels, and no other input.
bool is_image(const Sample& sample);

// Moves and mirrors the images of sample number `number`; all of its inputs alike.
Result<void> move_images(Sample& sample, const Augmentation& change, std::int64_t number,
                         ops::Memory& memory);

// The share of each of `rows` rows that it keeps when rows are mixed; the rest is of the next row.
std::vector<float> mixture(const Augmentation& change, std::int64_t rows);
// Mixes the rows of float32 arrays with as many rows: images, or the labels of images.
Result<void> mix_rows(ops::Array& array, const std::vector<float>& shares, ops::Memory& memory);

}  // namespace anybit::train
