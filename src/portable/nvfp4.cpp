// nvfp4: e2m1 elements of x / (block scale · tensor scale). The scales are not powers of two, so the order of
// the float32 operations is that of the format.
#include "formats/nvfp4.hpp"

#include <cmath>
#include <limits>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::Nvfp4Codec;
using formats::Rounding;

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  FunctionBody& body = x.body();
  const Term numbers = finite(x), a = abs(numbers);
  const Term largest = max(reduce("ReduceMax", a, {}), 0);
  const Term shared = to_single(largest) / body.single(6 * 448);
  const Term least = body.single(std::numeric_limits<float>::denorm_min());
  const Term tensor_scale = to_single(where(equal(largest, 0), 1, to_double(max(shared, least))));
  const Term wanted = to_single(groups.largest(a)) / body.single(6) / tensor_scale;
  const Term block_scale = to_minifloat(finite(to_double(wanted)), Nvfp4Codec::kScale, Rounding::half_even);
  const Term step = to_single(block_scale) * tensor_scale;
  const Term nothing = equal(step, body.single(0));
  const Term divisor = where(nothing, body.single(1), step);
  const Term quotient = finite(to_double(to_single(numbers) / divisor));
  const Term elements = to_minifloat(quotient, Nvfp4Codec::kElement, setup.rounding);
  return where(nothing, 0, limited(abs(elements) * to_double(step))) * where(nothing, 1, sign_of(x));
}

Term decode(const Setup&, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  std::vector<float> elements, scales;
  for (int code = 0; code < 16; ++code)
    elements.push_back(Nvfp4Codec::kElement.decode(static_cast<formats::Code16>(code)));
  for (int code = 0; code <= Nvfp4Codec::kScale.largest_code(); ++code)
    scales.push_back(Nvfp4Codec::kScale.decode(static_cast<formats::Code16>(code)));
  const Term step = look_up(scales, to_index(groups.spread(fields[1]))) * fields[0];
  return limited_single(look_up(elements, codes) * step);
}

}  // namespace

std::span<const Descriptor> nvfp4_descriptors() {
  static const Descriptor all[] = {{.family = "nvfp4", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
