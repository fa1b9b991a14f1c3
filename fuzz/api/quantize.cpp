// Bytes → model → inspect → prepare → quantize → run. The first eight bytes choose the recipe and the inputs.
// Nothing crashes; results load again; prepared models compute the same as the originals.
#include <cstring>
#include <string>

#include "../require.hpp"
#include "../through.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  std::uint64_t seed = 0;
  if (size < sizeof seed) return 0;
  std::memcpy(&seed, data, sizeof seed);
  through::Options options;
  options.seed = seed;
  options.largest_work = 1'000'000;
  options.violated = [](const std::string& what) { require(false, what.c_str()); };
  through::Journey({reinterpret_cast<const char*>(data) + sizeof seed, size - sizeof seed}, options).go();
  return 0;
}
