// A kernel for block formats. Fast loops run until they meet a block that they cannot handle (for example, a
// scale at the end of float32's range); the plain kernel does that block, and the fast loop continues.
#pragma once

#include <memory>

#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

// A format family derives from this and supplies the loops. Each starts at block g and returns the first
// block that it skipped, or the number of blocks.
class BlockRunKernel : public GroupKernel {
 public:
  explicit BlockRunKernel(const std::shared_ptr<const formats::Codec>& codec)
      : plain_(plain_kernel(codec, formats::Rounding::half_even)) {}

  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const final {
    run(
        shape, [&](std::size_t g) { return round_blocks(shape, g, x, words, out); },
        [&](std::size_t g, std::size_t at) {
          plain_->quantize(one(shape), x + at, words + g * shape.stride, nullptr, out + at);
        });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              CodesOut codes) const final {
    run(
        shape, [&](std::size_t g) { return code_blocks(shape, g, x, words, codes); },
        [&](std::size_t g, std::size_t at) {
          plain_->encode(one(shape), x + at, words + g * shape.stride, nullptr, codes + at);
        });
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const final {
    run(
        shape, [&](std::size_t g) { return decode_blocks(shape, g, codes, words, out); },
        [&](std::size_t g, std::size_t at) {
          plain_->decode(one(shape), codes + at, words + g * shape.stride, out + at);
        });
  }
  void choose_and_quantize(const Groups& shape, const float* x, std::uint32_t* words, const std::uint32_t*,
                           float* out) const final {
    if (!tiles(shape.size)) return GroupKernel::choose_and_quantize(shape, x, words, nullptr, out);
    run(
        shape, [&](std::size_t g) { return choose_and_round_tiles(shape, g, x, words, out); },
        [&](std::size_t g, std::size_t at) {
          GroupKernel::choose_and_quantize(one(shape), x + at, words + g * shape.stride, nullptr, out + at);
        });
  }
  void choose_and_encode(const Groups& shape, const float* x, std::uint32_t* words, const std::uint32_t*,
                         CodesOut codes) const final {
    if (!tiles(shape.size) || codes.bytes == nullptr) {
      return GroupKernel::choose_and_encode(shape, x, words, nullptr, codes);
    }
    run(
        shape, [&](std::size_t g) { return choose_and_code_tiles(shape, g, x, words, codes.bytes); },
        [&](std::size_t g, std::size_t at) {
          GroupKernel::choose_and_encode(one(shape), x + at, words + g * shape.stride, nullptr, codes + at);
        });
  }

 protected:
  virtual std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x,
                                   const std::uint32_t* words, float* out) const = 0;
  virtual std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x,
                                  const std::uint32_t* words, CodesOut codes) const = 0;
  virtual std::size_t decode_blocks(const Groups& shape, std::size_t g, CodesIn codes,
                                    const std::uint32_t* words, float* out) const = 0;
  // Whether blocks of this size can be chosen for and encoded in one pass, a few at a time.
  virtual bool tiles(std::size_t) const { return false; }
  virtual std::size_t choose_and_round_tiles(const Groups&, std::size_t g, const float*, std::uint32_t*,
                                             float*) const {
    return g;
  }
  virtual std::size_t choose_and_code_tiles(const Groups&, std::size_t g, const float*, std::uint32_t*,
                                            std::uint8_t*) const {
    return g;
  }

 private:
  static Groups one(const Groups& shape) { return {shape.size, 1, shape.stride}; }

  template <class Fast, class Plain>
  static void run(const Groups& shape, const Fast& fast, const Plain& plain) {
    for (std::size_t g = fast(0); g < shape.groups; g = fast(g + 1)) plain(g, g * shape.size);
  }
  std::unique_ptr<const GroupKernel> plain_;
};

}  // namespace anybit::kernels
