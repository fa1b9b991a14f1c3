// TensorCodec against the scalar codec, for every format: random tensors, axes, blocks, parameters and
// rounding modes. ANYBIT_SEED replays a failure.
#include "kernels/codec/tensor_codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/codec/packing.hpp"
#include "naive_tensor.hpp"
#include "random_tensors.hpp"

namespace anybit::kernels {
namespace {

using formats::Code16;
using formats::Descriptor;

unsigned chosen_seed() {
  const char* given = std::getenv("ANYBIT_SEED");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
}

ThreadPool& pool_of(int threads) {
  static ThreadPool one(1), two(2), three(3), five(5);
  return threads == 1 ? one : threads == 2 ? two : threads == 3 ? three : five;
}

// NaNs are equal: their payload is unspecified.
::testing::AssertionResult same(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " values";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (formats::bits_of(a[i]) == formats::bits_of(b[i]) || (formats::is_nan(a[i]) && formats::is_nan(b[i])))
      continue;
    return ::testing::AssertionFailure() << "at " << i << ": " << std::hexfloat << a[i] << " and " << b[i];
  }
  return ::testing::AssertionSuccess();
}

std::string described(const TensorCodec& codec, const TensorOptions& options) {
  std::string parameters;
  for (const auto& [name, value] : options.parameters) {
    parameters += fmt::format(" {}={}", name, formats::to_string(value));
  }
  const formats::Grouping& g = codec.grouping();
  return fmt::format("{}{}, dims [{}], groups of [{}], pack axis {}, {}", codec.descriptor().name, parameters,
                     fmt::join(g.dims, ","), fmt::join(g.box, ","), g.pack_axis, name_of(options.rounding));
}

class EveryFormat : public ::testing::TestWithParam<const Descriptor*> {
 protected:
  const Descriptor& format() const { return *GetParam(); }
  std::shared_ptr<const formats::Codec> codec() const { return *formats::make(format().name); }
};

// Compares every result of TensorCodec for one tensor with the naive one.
void compare(const TensorCodec& codec, const NaiveTensor& naive, const std::vector<float>& x,
             ThreadPool& pool) {
  const auto p = naive.choose(x);
  ASSERT_EQ(codec.choose(x, pool), p);
  const auto codes = naive.encode(x, p);
  std::vector<Code16> made_codes(x.size());
  codec.encode(x, p, made_codes.data(), pool);
  ASSERT_EQ(made_codes, codes);

  std::vector<float> out(x.size());
  codec.decode(codes, p, out.data(), pool);
  const auto decoded = naive.decode(codes, p);
  ASSERT_TRUE(same(out, decoded)) << "decode";
  const auto quantized = naive.quantize(x, p);
  codec.quantize(x, p, out.data(), pool);
  ASSERT_TRUE(same(out, quantized)) << "quantize";
  ASSERT_EQ(codec.choose_and_quantize(x, out.data(), pool), p);
  ASSERT_TRUE(same(out, quantized)) << "choose and quantize";

  const auto packed = naive.pack(codes);
  ASSERT_EQ(codec.packed_bytes(), static_cast<std::int64_t>(packed.size()));
  std::vector<std::uint8_t> made(packed.size(), 0xAA);
  codec.pack(codes.data(), made.data(), pool);
  ASSERT_EQ(made, packed) << "pack";
  std::fill(made.begin(), made.end(), std::uint8_t{0xAA});
  codec.encode_packed(x, p, made.data(), pool);
  ASSERT_EQ(made, packed) << "encode packed";
  std::fill(made.begin(), made.end(), std::uint8_t{0xAA});
  ASSERT_EQ(codec.choose_and_pack(x, made.data(), pool), p);
  ASSERT_EQ(made, packed) << "choose and pack";
  codec.unpack(packed.data(), made_codes.data(), pool);
  ASSERT_EQ(made_codes, codes) << "unpack";
  codec.decode_packed(packed.data(), p, out.data(), pool);
  ASSERT_TRUE(same(out, decoded)) << "decode packed";
}

TEST_P(EveryFormat, EqualsTheScalarCodecOnEachGroup) {
  const unsigned first = chosen_seed();
  for (unsigned trial = 0; trial < 40; ++trial) {
    const unsigned seed = first + trial;
    RandomTensors random(seed);
    const formats::Dims dims = random.dims();
    TensorOptions options = random.options(format(), dims);
    options.plain = random.one_in(3);
    const auto codec = TensorCodec::make(format().name, dims, options);
    ASSERT_TRUE(codec.ok()) << codec.error().text() << " ANYBIT_SEED=" << seed;
    SCOPED_TRACE(fmt::format("ANYBIT_SEED={}: {}{}", seed, described(*codec, options),
                             options.plain ? ", plain" : ""));
    const std::vector<float> x = random.values(codec->count(), random.one_in(4));
    const NaiveTensor naive(*codec, options.rounding, options.seed);
    for (const int threads : {1, 2, 3, 5}) {
      SCOPED_TRACE(fmt::format("{} threads", threads));
      ASSERT_NO_FATAL_FAILURE(compare(*codec, naive, x, pool_of(threads)));
      if (threads > 1 && codec->count() < 4000) break;  // one chunk: more threads have no effect
    }
    if (codec->count() > 0) {
      EXPECT_TRUE(codec->check(naive.choose(x)).ok()) << codec->check(naive.choose(x)).error().text();
    }
  }
}

TEST_P(EveryFormat, PacksEveryLengthAlongEveryAxis) {
  for (std::int64_t length = 0; length <= 70; ++length) {
    for (const auto& [dims, axis] :
         {std::pair{formats::Dims{length}, 0}, {{2, length, 3}, 1}, {{length, 2}, 0}}) {
      TensorOptions options;
      if (format().granularity != formats::Granularity::element)
        options.grouping.granularity = formats::Granularity::block;
      if (format().granularity != formats::Granularity::element) options.grouping.block_size = 7;
      options.grouping.axis = axis;
      const auto codec = TensorCodec::make(format().name, dims, options);
      ASSERT_TRUE(codec.ok()) << codec.error().text();
      std::vector<Code16> codes(static_cast<std::size_t>(codec->count())), back(codes.size());
      RandomTensors random(static_cast<unsigned>(length));
      for (auto& code : codes) code = static_cast<Code16>(random.between(0, (1 << codec->bits()) - 1));
      const auto expected = NaiveTensor(*codec, options.rounding, 0).pack(codes);
      std::vector<std::uint8_t> packed(static_cast<std::size_t>(codec->packed_bytes()));
      codec->pack(codes.data(), packed.data(), pool_of(1));
      ASSERT_EQ(packed, expected) << length;
      codec->unpack(packed.data(), back.data(), pool_of(1));
      ASSERT_EQ(back, codes) << length;
    }
  }
}

TEST(TensorCodec, PacksFivesOfEveryLengthAlongEveryAxis) {
  for (std::int64_t length = 0; length <= 70; ++length) {
    for (const auto& [dims, axis] :
         {std::pair{formats::Dims{length}, 0}, {{2, length, 3}, 1}, {{length, 2}, 0}}) {
      TensorOptions options;
      options.parameters = {{"packing", std::string("fives")}};
      options.grouping = {formats::Granularity::block, axis, 7, {}};
      const auto codec = TensorCodec::make("ternary", dims, options);
      ASSERT_TRUE(codec.ok()) << codec.error().text();
      std::vector<float> x(static_cast<std::size_t>(codec->count()));
      RandomTensors random(static_cast<unsigned>(length));
      for (float& one : x) one = static_cast<float>(random.between(-1, 1));
      ASSERT_NO_FATAL_FAILURE(compare(*codec, NaiveTensor(*codec, options.rounding, 0), x, pool_of(1)))
          << length;
    }
  }
}

// The formats that encode to the nearest value. Log, binary and ternary have their own thresholds; the other
// block formats may share more than a scale.
bool encodes_to_nearest(const Descriptor& format) {
  for (const std::string_view family : {"affine", "fixed", "minifloat", "minifloat_denorm", "mx"}) {
    if (format.family == family) return format.name != "fp8_e8m0";
  }
  return false;
}

TEST_P(EveryFormat, IsIdempotentAndMonotoneForAFixedScale) {
  if (!encodes_to_nearest(format())) return;
  const unsigned first = chosen_seed();
  for (unsigned trial = 0; trial < 20; ++trial) {
    RandomTensors random(first + trial);
    std::vector<float> x = random.values(random.between(1, 500), false), once(x.size()), twice(x.size());
    std::sort(x.begin(), x.end());
    std::vector<std::uint32_t> words(
        static_cast<std::size_t>(codec()->words(static_cast<std::int64_t>(x.size()))));
    codec()->choose_for_tensor(x, words);
    codec()->choose(x, words);
    codec()->settle(words, static_cast<std::int64_t>(words.size()));
    for (const auto rounding :
         {formats::Rounding::half_even, formats::Rounding::half_away, formats::Rounding::half_up}) {
      SCOPED_TRACE(fmt::format("ANYBIT_SEED={}, {}", first + trial, name_of(rounding)));
      codec()->quantize(x, words, {rounding}, once.data());
      EXPECT_TRUE(std::is_sorted(once.begin(), once.end()));
      codec()->quantize(once, words, {rounding}, twice.data());
      EXPECT_TRUE(same(twice, once));
    }
  }
}

TEST_P(EveryFormat, ReencodesEveryCodeToItsCanonicalCode) {
  if (!encodes_to_nearest(format())) return;
  const std::vector<float> data = RandomTensors(1).values(32, false);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(codec()->words(32)));
  codec()->choose_for_tensor(data, words);
  codec()->choose(data, words);
  codec()->settle(words, static_cast<std::int64_t>(words.size()));
  const formats::Range range = codec()->range(words);
  std::vector<Code16> all(std::size_t{1} << codec()->bits()), canonical(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Code16>(i);
  std::vector<float> values(all.size()), again(all.size());
  codec()->decode(all, words, values.data());
  codec()->encode(values, words, {}, canonical.data());
  codec()->decode(canonical, words, again.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Inf saturates, and so does the lowest code of a narrow range.
    if (!std::isfinite(values[i]) || values[i] < range.low || values[i] > range.high) continue;
    ASSERT_EQ(formats::bits_of(again[i]), formats::bits_of(values[i]))
        << "code " << i << ", value " << values[i];
    ASSERT_EQ(canonical[canonical[i]], canonical[i]) << "code " << i;
  }
}

TEST_P(EveryFormat, KeepsTheSignOfZeroIfThereIsACodeForIt) {
  const formats::Properties p = codec()->properties();
  if (!p.zero) return;
  // By definition, nvfp4 encodes a block whose scale rounds to zero as zeros.
  const bool plain_zeros = format().name == "nvfp4";
  for (const std::vector<float>& x :
       {std::vector<float>{-0.0f, 0.0f, 1.0f, -1.0f}, {-0.0f, 0.0f, 0.0f, 0.0f}}) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(codec()->words(4)));
    codec()->choose_for_tensor(x, words);
    codec()->choose(x, words);
    codec()->settle(words, static_cast<std::int64_t>(words.size()));
    std::vector<float> out(4);
    codec()->quantize(x, words, {}, out.data());
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(std::signbit(out[0]), p.negative_zero && !(plain_zeros && x[2] == 0));
    EXPECT_EQ(formats::bits_of(out[1]), 0u);
  }
}

std::string name_of_case(const ::testing::TestParamInfo<const Descriptor*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         ::testing::ValuesIn(formats::table().begin(), formats::table().end()), name_of_case);

}  // namespace
}  // namespace anybit::kernels
