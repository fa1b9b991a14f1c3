#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "anybit/executor.hpp"

namespace anybit::verilog {
namespace {

template <class T>
T checked(Result<T> result, std::string_view doing) {
  if (!result)
    throw Refusal(fmt::format("verilog-gen: the test bench's vectors: {}: {}", doing, result.error().text()));
  return std::move(result).value();
}

// As QuantizeLinear does.
std::int64_t quantized(float real, const Port& port) {
  const float steps =
      std::nearbyint(real / static_cast<float>(port.scale)) + static_cast<float>(port.zero_point);
  const std::int64_t low = port.bus.is_signed ? -(std::int64_t{1} << (port.bus.bits - 1)) : 0;
  const std::int64_t high = low + (std::int64_t{1} << port.bus.bits) - 1;
  return std::clamp(static_cast<std::int64_t>(steps), low, high);
}

float real_of(std::int64_t integer, const Port& port) {
  return static_cast<float>(integer - port.zero_point) * static_cast<float>(port.scale);
}

class Maker {
 public:
  Maker(const anybit_view& view, const Settings& settings, const Port& input, const Port& output)
      : settings_(settings),
        input_(input),
        output_(output),
        executor_(checked(Executor::make(checked(Model::load(view.path), "loading the model")),
                          "preparing the model")),
        dims_(Value(view.graph->values[view.graph->inputs[0]]).dims()) {}

  Vectors make() {
    Vectors vectors;
    const std::vector<float> samples = settings_.samples.empty() ? std::vector<float>() : read_samples();
    const auto each = static_cast<std::size_t>(input_.bus.count);
    const std::size_t count =
        settings_.samples.empty()
            ? static_cast<std::size_t>(settings_.vectors)
            : std::min(samples.size() / each, static_cast<std::size_t>(settings_.vectors));
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same vectors for the same model
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::int64_t> integers(each);
      for (std::size_t k = 0; k < each; ++k)
        integers[k] = settings_.samples.empty() ? drawn(random) : quantized(samples[i * each + k], input_);
      vectors.outputs.push_back(run(integers));
      vectors.inputs.push_back(std::move(integers));
    }
    return vectors;
  }

 private:
  std::int64_t drawn(std::mt19937& random) const {
    const auto bits = static_cast<std::uint32_t>(random()) >> (32 - input_.bus.bits);
    return static_cast<std::int64_t>(bits) -
           (input_.bus.is_signed ? std::int64_t{1} << (input_.bus.bits - 1) : 0);
  }

  std::vector<float> read_samples() const {
    const Array all = checked(read_npy(settings_.samples), "reading the samples");
    return checked(all.to_floats(), "reading the samples");
  }

  Result<Array> real_input(const std::vector<std::int64_t>& integers) const {
    std::vector<float> reals;
    for (const std::int64_t one : integers) reals.push_back(real_of(one, input_));
    return Array::from_floats(std::move(reals), dims_);
  }

  Result<Array> integer_input(const std::vector<std::int64_t>& integers) const {
    const auto size = static_cast<std::size_t>(input_.bus.bits / 8);  // little endian
    std::vector<std::byte> bytes(integers.size() * size);
    for (std::size_t i = 0; i < integers.size(); ++i) std::memcpy(&bytes[i * size], &integers[i], size);
    return Array::from_bytes(fmt::format("{}int{}", input_.bus.is_signed ? "" : "u", input_.bus.bits),
                             std::move(bytes), dims_);
  }

  std::vector<std::int64_t> run(const std::vector<std::int64_t>& integers) {
    const Array x = checked(input_.is_real ? real_input(integers) : integer_input(integers), "an input");
    const auto outputs = checked(executor_.run({{input_.name, x}}), "running the model");
    const std::vector<float> results = checked(outputs.at(0).tensor.to_floats(), "reading the output");
    std::vector<std::int64_t> found;
    for (const float one : results) {
      const double steps =
          output_.is_real ? static_cast<double>(one) / output_.scale : static_cast<double>(one);
      const double integer = std::nearbyint(steps);
      if (!(std::abs(steps - integer) <= 1e-3))
        throw Refusal(
            fmt::format("verilog-gen: the engine's output {} is no multiple of {}", one, output_.scale));
      found.push_back(static_cast<std::int64_t>(integer) + (output_.is_real ? output_.zero_point : 0));
    }
    if (found.size() != static_cast<std::size_t>(output_.bus.count))
      throw Refusal(fmt::format("verilog-gen: the engine has {} outputs, the module {}", found.size(),
                                output_.bus.count));
    return found;
  }

  const Settings& settings_;
  const Port &input_, &output_;
  Executor executor_;
  std::vector<std::int64_t> dims_;
};

}  // namespace

Vectors make_vectors(const anybit_view& view, const Settings& settings, const Port& input,
                     const Port& output) {
  if (!*view.path || settings.vectors == 0) return {};
  return Maker(view, settings, input, output).make();
}

std::string hex_of(const std::vector<std::int64_t>& elements, int bits) {
  std::vector<bool> all;
  for (const std::int64_t one : elements) {
    for (int bit = 0; bit < bits; ++bit) all.push_back((static_cast<std::uint64_t>(one) >> bit & 1) != 0);
  }
  std::string text;
  for (std::size_t i = 0; i < all.size(); i += 4) {
    unsigned digit = 0;
    for (std::size_t k = i; k < std::min(i + 4, all.size()); ++k)
      digit |= static_cast<unsigned>(all[k]) << (k - i);
    text += "0123456789abcdef"[digit];
  }
  std::ranges::reverse(text);
  return text;
}

}  // namespace anybit::verilog
