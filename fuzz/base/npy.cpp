// Bytes → array → bytes → array: every .npy that can be read can be written, and reads back as the same
// array.
#include <algorithm>
#include <string>

#include "../require.hpp"
#include "base/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const auto first = parse_npy(Bytes::own(std::string(reinterpret_cast<const char*>(data), size)));
  if (!first.ok()) return 0;
  const auto header = npy_header(*first);
  require(header, "an array that was read must have a header");
  const auto body = npy_data(*first);
  require(body, "an array that was read must have data");
  const auto second = parse_npy(Bytes::own(*header + std::string(body->text())));
  require(second, "an array that was written must be read");
  require(second->dims == first->dims && second->type == first->type, "type or dimensions changed");
  require(std::ranges::equal(second->bytes, first->bytes), "values changed");
  return 0;
}
