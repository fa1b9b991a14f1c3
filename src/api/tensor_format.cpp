// TensorFormat of the public header: validates all input, then calls TensorCodec.
#include <cmath>

#include "anybit/formats.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "kernels/codec/stored_fields.hpp"
#include "kernels/codec/tensor_codec.hpp"
#include "kernels/reduce/losses.hpp"

namespace anybit {
namespace {

using kernels::TensorCodec;

constexpr std::int64_t kMostValues = std::int64_t{1} << 48;  // far above memory, far below overflow
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 16;
constexpr std::int64_t kChunk = std::int64_t{1} << 16;
constexpr int kMostThreads = 1024;

Result<TensorCodec> make_codec(std::string_view format, const std::vector<std::int64_t>& dims,
                               const TensorFormatOptions& options) {
  TensorCodec codec = TRY(
      TensorCodec::make(format, dims,
                        {.parameters = options.parameters,
                         .grouping = {options.granularity, options.axis, options.block_size, options.block},
                         .rounding = options.rounding,
                         .seed = options.seed}));
  if (codec.count() > kMostValues) {
    return error_at(Code::limit_exceeded, {},
                    fmt::format("a tensor of {} values is too large", codec.count()),
                    fmt::format("at most {}", kMostValues));
  }
  return codec;
}

}  // namespace

struct TensorFormat::State {
  State(TensorCodec made, const TensorFormatOptions& options)
      : codec(std::move(made)),
        allow_nonfinite(options.allow_nonfinite),
        pool(codec.count() < kWorthThreads ? 1 : options.threads) {}

  Result<void> check_size(std::string_view what, std::size_t given, std::int64_t wanted) const {
    if (given == static_cast<std::size_t>(wanted)) return {};
    return invalid_argument(
        fmt::format("{} are given for {}", given, what),
        fmt::format("a tensor of dimensions [{}] needs {}", fmt::join(codec.grouping().dims, ", "), wanted));
  }

  Result<void> check_values(std::span<const float> values) const {
    TRY(check_size("values", values.size(), codec.count()));
    if (allow_nonfinite) return {};
    return codec.check_finite(values, pool);
  }

  Result<void> check_codes(std::span<const std::uint16_t> codes) const {
    TRY(check_size("codes", codes.size(), codec.count()));
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] >> codec.bits() == 0) continue;
      return error_at(Code::invalid_data, codec.place_of(static_cast<std::int64_t>(i)),
                      fmt::format("{} is not a code of {} bits", codes[i], codec.bits()));
    }
    return {};
  }

  TensorCodec codec;
  bool allow_nonfinite;
  mutable ThreadPool pool;  // its run() may be called from several threads
};

Result<TensorFormat> TensorFormat::make(std::string_view format, std::vector<std::int64_t> dims,
                                        const TensorFormatOptions& options) noexcept {
  return guarded([&]() -> Result<TensorFormat> {
    if (options.threads < 0 || options.threads > kMostThreads) {
      return invalid_argument(fmt::format("invalid number of threads: {}", options.threads),
                              fmt::format("0 (one for each core) to {}", kMostThreads));
    }
    return TensorFormat(std::make_shared<const State>(TRY(make_codec(format, dims, options)), options));
  });
}

std::string_view TensorFormat::name() const noexcept { return state_->codec.descriptor().name; }
const std::vector<std::int64_t>& TensorFormat::dims() const noexcept { return state_->codec.grouping().dims; }
const std::vector<std::int64_t>& TensorFormat::group_grid() const noexcept {
  return state_->codec.grouping().grid;
}
const std::vector<std::int64_t>& TensorFormat::group_shape() const noexcept {
  return state_->codec.grouping().box;
}
Granularity TensorFormat::granularity() const noexcept { return state_->codec.grouping().granularity; }
Rounding TensorFormat::rounding() const noexcept { return state_->codec.rounding(); }
const ParameterValues& TensorFormat::parameters() const noexcept { return state_->codec.values(); }
std::int64_t TensorFormat::count() const noexcept { return state_->codec.count(); }
std::int64_t TensorFormat::groups() const noexcept { return state_->codec.grouping().groups(); }
std::int64_t TensorFormat::words_per_group() const noexcept {
  return static_cast<std::int64_t>(state_->codec.stride());
}
int TensorFormat::bits() const noexcept { return state_->codec.bits(); }
double TensorFormat::bits_per_value() const noexcept { return state_->codec.bits_per_value(); }
std::int64_t TensorFormat::pack_axis() const noexcept { return state_->codec.grouping().pack_axis; }
std::int64_t TensorFormat::packed_bytes() const noexcept { return state_->codec.packed_bytes(); }

std::vector<std::int64_t> TensorFormat::packed_dims() const { return state_->codec.packed_dims(); }

Result<GroupParameters> TensorFormat::choose(std::span<const float> values) const noexcept {
  return guarded([&]() -> Result<GroupParameters> {
    TRY(state_->check_values(values));
    return state_->codec.choose(values, state_->pool);
  });
}

Result<GroupParameters> TensorFormat::choose_from_range(float low, float high) const noexcept {
  return guarded([&]() -> Result<GroupParameters> {
    if (!(low <= high)) {
      return invalid_argument(fmt::format("invalid range: {:g} to {:g}", low, high),
                              "the lower end comes first");
    }
    return state_->codec.choose_from_range({low, high});
  });
}

Result<void> TensorFormat::encode(std::span<const float> values, const GroupParameters& parameters,
                                  std::span<std::uint16_t> codes) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_values(values));
    TRY(state_->check_size("codes", codes.size(), count()));
    TRY(state_->codec.check(parameters));
    state_->codec.encode(values, parameters, codes.data(), state_->pool);
    return {};
  });
}

Result<void> TensorFormat::decode(std::span<const std::uint16_t> codes, const GroupParameters& parameters,
                                  std::span<float> out) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_codes(codes));
    TRY(state_->check_size("output", out.size(), count()));
    TRY(state_->codec.check(parameters));
    state_->codec.decode(codes, parameters, out.data(), state_->pool);
    return {};
  });
}

Result<void> TensorFormat::quantize(std::span<const float> values, const GroupParameters& parameters,
                                    std::span<float> out) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_values(values));
    TRY(state_->check_size("output", out.size(), count()));
    TRY(state_->codec.check(parameters));
    state_->codec.quantize(values, parameters, out.data(), state_->pool);
    return {};
  });
}

Result<GroupParameters> TensorFormat::choose_and_quantize(std::span<const float> values,
                                                          std::span<float> out) const noexcept {
  return guarded([&]() -> Result<GroupParameters> {
    TRY(state_->check_values(values));
    TRY(state_->check_size("output", out.size(), count()));
    return state_->codec.choose_and_quantize(values, out.data(), state_->pool);
  });
}

Result<void> TensorFormat::pack(std::span<const std::uint16_t> codes,
                                std::span<std::uint8_t> packed) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_codes(codes));
    TRY(state_->check_size("packed bytes", packed.size(), packed_bytes()));
    TRY(state_->codec.codec().packable());
    state_->codec.pack(codes.data(), packed.data(), state_->pool);
    return {};
  });
}

Result<void> TensorFormat::unpack(std::span<const std::uint8_t> packed,
                                  std::span<std::uint16_t> codes) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_size("packed bytes", packed.size(), packed_bytes()));
    TRY(state_->check_size("codes", codes.size(), count()));
    state_->codec.unpack(packed.data(), codes.data(), state_->pool);
    return {};
  });
}

Result<void> TensorFormat::encode_packed(std::span<const float> values, const GroupParameters& parameters,
                                         std::span<std::uint8_t> packed) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_values(values));
    TRY(state_->check_size("packed bytes", packed.size(), packed_bytes()));
    TRY(state_->codec.codec().packable());
    TRY(state_->codec.check(parameters));
    state_->codec.encode_packed(values, parameters, packed.data(), state_->pool);
    return {};
  });
}

Result<GroupParameters> TensorFormat::choose_and_pack(std::span<const float> values,
                                                      std::span<std::uint8_t> packed) const noexcept {
  return guarded([&]() -> Result<GroupParameters> {
    TRY(state_->check_values(values));
    TRY(state_->check_size("packed bytes", packed.size(), packed_bytes()));
    TRY(state_->codec.codec().packable());
    return state_->codec.choose_and_pack(values, packed.data(), state_->pool);
  });
}

Result<void> TensorFormat::decode_packed(std::span<const std::uint8_t> packed,
                                         const GroupParameters& parameters,
                                         std::span<float> out) const noexcept {
  return guarded([&]() -> Result<void> {
    TRY(state_->check_size("packed bytes", packed.size(), packed_bytes()));
    TRY(state_->check_size("output", out.size(), count()));
    TRY(state_->codec.check(parameters));
    state_->codec.decode_packed(packed.data(), parameters, out.data(), state_->pool);
    return {};
  });
}

Result<std::vector<StoredField>> TensorFormat::store(const GroupParameters& parameters) const noexcept {
  return guarded([&]() -> Result<std::vector<StoredField>> {
    TRY(state_->codec.codec().packable());
    TRY(state_->codec.check(parameters));
    return kernels::store(state_->codec, parameters);
  });
}

Result<GroupParameters> TensorFormat::restore(std::span<const StoredField> fields) const noexcept {
  return guarded([&]() -> Result<GroupParameters> {
    GroupParameters parameters = TRY(kernels::restore(state_->codec, fields));
    TRY(state_->codec.check(parameters));
    return parameters;
  });
}

Result<Losses> TensorFormat::losses(std::span<const float> values, const GroupParameters& parameters,
                                    std::span<const float> quantized) const noexcept {
  return guarded([&]() -> Result<Losses> {
    TRY(state_->check_size("values", values.size(), count()));
    TRY(state_->check_size("quantized values", quantized.size(), count()));
    TRY(state_->codec.check(parameters));
    return kernels::losses(state_->codec, values, parameters, quantized, state_->pool);
  });
}

}  // namespace anybit
