// Bytes → entries → arrays: entries of a readable archive do not exceed deflate's maximum ratio, and arrays
// of an .npz are valid .npy arrays.
#include <string>

#include "../require.hpp"
#include "base/npy.hpp"
#include "base/zip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const auto entries = read_zip(Bytes::own(std::string(reinterpret_cast<const char*>(data), size)));
  if (!entries.ok()) return 0;
  std::size_t total = 0;
  for (const ZipEntry& entry : *entries) {
    total += entry.data.size();
    const auto array = parse_npy(entry.data);
    if (array.ok()) require(npy_header(*array), "an array that was read must have a header");
  }
  require(total <= 1033 * size, "entries are larger than the archive can hold");
  return 0;
}
