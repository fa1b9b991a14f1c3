// Text → ranges → text → ranges: ranges that can be read are valid and round-trip; every observer finds a
// range in them, and merging them with themselves doubles the samples.
#include <cmath>
#include <string>
#include <string_view>

#include "../require.hpp"
#include "calibrate/ranges_file.hpp"
#include "calibrate/table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  auto first = calibrate::parse_ranges({reinterpret_cast<const char*>(data), size});
  if (!first.ok()) return 0;
  const auto text = calibrate::to_text(*first);
  require(text, "ranges that were read must be written");
  const auto second = calibrate::parse_ranges(*text);
  require(second, "ranges that were written must be read");
  const auto again = calibrate::to_text(*second);
  require(again.ok() && *again == *text, "a second writing must give the same text");
  for (const auto& [name, statistics] : first->tensors) {
    for (const calibrate::Descriptor* observer : calibrate::table()) {
      if (!statistics.has(observer->needs)) continue;
      const calibrate::Range range = observer->choose(statistics, {}, {});
      require(std::isfinite(range.low) && std::isfinite(range.high) && range.low <= range.high,
              "an invalid range", std::string(observer->name) + " of " + name);
    }
  }
  const std::int64_t samples = first->samples;
  if (calibrate::merge(*first, *second).ok()) {
    require(first->samples == 2 * samples, "samples are missing");
    require(calibrate::to_text(*first), "merged ranges must be written");
  }
  return 0;
}
