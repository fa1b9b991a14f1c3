// Bytes → pixels: a successful decode writes every pixel and does not depend on the buffer's contents;
// otherwise there is an error. The cost is bounded by the image's size.
#include <cstring>
#include <vector>

#include "../require.hpp"
#include "images/image.hpp"

namespace {

constexpr anybit::Limits kLimits{.pixels = 1 << 20};  // larger ones cost time, and find nothing new

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const images::File file(reinterpret_cast<const std::byte*>(data), size);
  const auto found = images::size_of(file, kLimits);
  if (!found.ok()) return 0;
  const auto count = static_cast<std::size_t>(found->height * found->width);
  require(count > 0 && count <= static_cast<std::size_t>(kLimits.pixels), "a size beyond the limit");
  std::vector<std::uint8_t> first(3 * count, 0x55), second(3 * count, 0xAA), gray(count);
  const auto once = images::decode(file, 3, first, kLimits);
  const auto again = images::decode(file, 3, second, kLimits);
  require(once.ok() == again.ok(), "decoding twice gives different results");
  if (!once.ok()) {
    require(!once.error().message.empty(), "an error without a message");
    return 0;
  }
  require(first == second, "a pixel was not written");
  require(images::decode(file, 1, gray, kLimits), "RGB is decoded, luma is not");
  return 0;
}
