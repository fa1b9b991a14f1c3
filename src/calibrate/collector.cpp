#include "calibrate/collector.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/layout.hpp"

namespace anybit::calibrate {

const float* Look::plain(Workbench& bench) const {
  if (array.layout() == ops::Layout::plain) return x;
  bench.plain.resize(n);
  const auto over = [&](const float* data, ops::Layout layout) {
    // Only read, if it is the source. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* bytes = reinterpret_cast<std::byte*>(const_cast<float*>(data));
    return ops::Array::over(ops::ElementType::float32, array.dims(), bytes, {}, layout);
  };
  ops::Array to = over(bench.plain.data(), ops::Layout::plain);
  ops::convert_layout(over(x, array.layout()), to);
  return bench.plain.data();
}

void Glance::add(const kernels::Extremes& part) {
  seen = true;
  bad = bad || part.nans + part.infinities > 0;
  if (part.finite == 0) return;
  min = finite == 0 ? part.min : std::min(min, part.min);
  max = finite == 0 ? part.max : std::max(max, part.max);
  finite += part.finite;
}

Result<void> take_memory(Workbench& bench, std::int64_t bytes, const std::string& what) {
  if (!bench.memory || bench.memory->fetch_sub(bytes) >= bytes) return {};
  bench.memory->fetch_add(bytes);
  return error_at(Code::limit_exceeded, {},
                  fmt::format("{} takes {} MB, and of the memory for statistics {} MB are left", what,
                              (bytes >> 20) + 1, std::max<std::int64_t>(bench.memory->load(), 0) >> 20),
                  "more memory (--max-memory), or fewer layers at a time");
}

}  // namespace anybit::calibrate
