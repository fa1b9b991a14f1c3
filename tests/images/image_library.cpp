// The image decoders as C functions, for tests in Python (ctypes). Both return an error code, or 0; `message`
// has room for 400 bytes.
#include <cstdio>

#include "images/image.hpp"

namespace {

anybit::images::File file_of(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

template <class T>
int answer(const anybit::Result<T>& result, char* message) {
  if (result.ok()) return 0;
  std::snprintf(message, 400, "%s", result.error().text().c_str());
  return static_cast<int>(result.error().code);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int image_size(const unsigned char* data, std::size_t size,
                                                      std::int64_t* dims, char* message) {
  const auto found = anybit::images::size_of(file_of(data, size));
  if (found.ok()) {
    dims[0] = found->height;
    dims[1] = found->width;
  }
  return answer(found, message);
}

__attribute__((visibility("default"))) int image_decode(const unsigned char* data, std::size_t size,
                                                        int channels, unsigned char* pixels,
                                                        std::size_t count, char* message) {
  return answer(anybit::images::decode(file_of(data, size), channels, {pixels, count}), message);
}

}  // extern "C"
