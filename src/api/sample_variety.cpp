#include "api/sample_variety.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "graph/element_type.hpp"
#include "ops/convert.hpp"

namespace anybit {
namespace {

// Values of pixels, sound and features vary. Masks, positions and lengths, which are integers, may be
// constant.
std::size_t width_if_data(const Array& array) {
  const graph::ElementTypeInfo* type = graph::find_element_type(array.type);
  using enum graph::ElementType;
  const bool data = type && (type->type == float32 || type->type == float64 || type->type == float16 ||
                             type->type == bfloat16 || type->type == uint8);
  return data ? static_cast<std::size_t>(type->bits) / 8 : 0;
}

double number_of(const Array& array) {
  double number = 0;
  const graph::ElementTypeInfo* type = graph::find_element_type(array.type);
  ops::convert(type->type, array.bytes.data(), graph::ElementType::float64,
               reinterpret_cast<std::byte*>(&number), 1);
  return number;
}

}  // namespace

void SampleVariety::see(const Sample& sample) {
  for (const auto& [name, value] : sample) {
    Input& input = inputs_[name];
    if (input.varies) continue;
    const Array& array = value.tensor;
    const std::size_t width = value.kind == Value::Kind::tensor ? width_if_data(array) : 0;
    // A single number may be a setting.
    if (width == 0 || array.bytes.size() <= width || (input.samples > 0 && input.type != array.type)) {
      input.varies = true;
      continue;
    }
    if (input.samples++ == 0) {
      input.type = array.type;
      input.value.assign(array.bytes.begin(), array.bytes.begin() + static_cast<std::ptrdiff_t>(width));
      input.number = number_of(array);
    }
    for (std::size_t at = 0; at + width <= array.bytes.size() && !input.varies; at += width)
      input.varies = std::memcmp(array.bytes.data() + at, input.value.data(), width) != 0;
  }
}

std::vector<std::string> SampleVariety::remarks() const {
  std::vector<std::string> remarks;
  for (const auto& [name, input] : inputs_) {
    if (input.varies || input.samples == 0) continue;
    remarks.push_back(fmt::format(
        "input '{}': every value of {} {:g}: is this real data?", shown(name),
        input.samples == 1 ? "the only sample is" : fmt::format("all {} samples is", input.samples),
        input.number));
  }
  return remarks;
}

}  // namespace anybit
