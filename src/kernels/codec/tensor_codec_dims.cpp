// The dimensions of a TensorCodec: those of its packed bytes, and the index of a value that cannot be
// quantized.
#include <atomic>

#include "base/error.hpp"
#include "formats/float_bits.hpp"
#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 16;

}  // namespace

formats::Dims TensorCodec::packed_dims() const {
  formats::Dims result;
  for (std::size_t d = 0; d < grouping_.dims.size(); ++d) {
    if (static_cast<std::int64_t>(d) != grouping_.pack_axis) result.push_back(grouping_.dims[d]);  // -1: none
  }
  result.push_back(row_bytes());
  return result;
}

std::string TensorCodec::place_of(std::int64_t index) const {
  const formats::Dims& dims = grouping_.dims;
  std::vector<std::int64_t> at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0; index /= dims[d]) at[d] = index % dims[d];
  return fmt::format("value [{}]", fmt::join(at, ", "));
}

Result<void> TensorCodec::check_finite(std::span<const float> values, ThreadPool& pool) const {
  std::atomic<std::int64_t> first = count();
  pool.run(count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (formats::is_finite(values[static_cast<std::size_t>(i)])) continue;
      std::int64_t seen = first.load();
      while (i < seen && !first.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  if (first == count()) return {};
  const float x = values[static_cast<std::size_t>(first.load())];
  return error_at(Code::invalid_data, place_of(first),
                  formats::is_nan(x) ? "is NaN"
                  : x > 0            ? "is Inf"
                                     : "is -Inf",
                  "only finite values are quantized, unless non-finite ones are allowed");
}

}  // namespace anybit::kernels
