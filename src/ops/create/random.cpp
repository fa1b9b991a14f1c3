// Random tensors of a given shape or like another tensor, and sampling from probabilities. ONNX:
// RandomNormal-1, -22, RandomUniform-1, -22, their Like forms, Bernoulli-15, -22, Multinomial-7, -22.
#include "base/math.hpp"
#include "ops/create/random_stream.hpp"

#include <algorithm>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_shaped(const Call& call) {
  const auto sizes = call.integers("shape");
  const auto shape = sizes ? std::optional(Shape(sizes->begin(), sizes->end())) : std::nullopt;
  return outputs_of(call, tensor(type_of(call.integer("dtype", 1)), shape));
}

Result<Values> infer_like(const Call& call) {
  const auto type = call.integer("dtype");
  return outputs_of(call, tensor(type ? type_of(*type) : call.in(0).type, call.in(0).shape));
}

Result<Values> infer_multinomial(const Call& call) {
  Value value = tensor(type_of(call.integer("dtype", 6)), unknown_shape(2));
  if (call.in(0).has_rank(2)) (*value.shape)[0] = (*call.in(0).shape)[0];
  (*value.shape)[1] = call.integer("sample_size", 1);
  return outputs_of(call, std::move(value));
}

enum class Kind { uniform, normal };

// mean + scale·normal, or low + (high - low)·uniform
Result<void> fill(Frame& frame, Kind kind, ElementType type, const Dims& dims) {
  if (!is_float(type))
    return wrong(fmt::format("the wanted type is {}", graph::name_of(type)), "a float type");
  const RandomStream stream(seed_of(frame));
  const bool normal = kind == Kind::normal;
  const double start = normal ? frame.real("mean", 0) : frame.real("low", 0);
  const double scale = normal ? frame.real("scale", 1) : frame.real("high", 1) - start;
  Array* out = TRY(frame.out(0, type, dims));
  for_real(type, [&]<class T>(T) {
    T* to = out->mutable_data<T>();
    parallel(frame, out->count(), normal ? 40 : 4, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const auto at = static_cast<std::uint64_t>(i);
        to[i] = static_cast<T>(
            static_cast<Computed<T>>(start + scale * (normal ? stream.normal(at) : stream.uniform(at))));
      }
    });
  });
  return {};
}

constexpr std::size_t kShown = 8;  // list elements shown in a message

template <Kind Which>
Result<void> run_shaped(Frame& frame) {
  const auto dims = frame.ints("shape");
  if (!dims) return wrong("the attribute shape is missing");
  const bool sizes = std::ranges::all_of(*dims, [](std::int64_t dim) { return dim >= 0; });
  if (!sizes || dims->size() > Dims::kCapacity)
    return wrong(fmt::format("shape is [{}]", fmt::join(dims->first(std::min(dims->size(), kShown)), ", ")),
                 fmt::format("at most {} sizes", Dims::kCapacity));
  return fill(frame, Which, type_of(frame.integer("dtype", 1)), Dims(*dims));
}

template <Kind Which>
Result<void> run_like(Frame& frame) {
  const auto type = frame.integer("dtype");
  return fill(frame, Which, type ? type_of(*type) : frame.in(0).type(), frame.in(0).dims());
}

Result<void> run_bernoulli(Frame& frame) {
  const Array& in = frame.in(0);
  const auto wanted = frame.integer("dtype");
  const ElementType type = wanted ? type_of(*wanted) : in.type();
  const bool as_bool = type == ElementType::boolean;
  if (!as_bool && !for_number(type, [](auto) {}))
    return wrong(fmt::format("the wanted type is {}", graph::name_of(type)), "numbers or booleans");
  if (!is_float(in.type())) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, type, in.dims()));
  const RandomStream stream(seed_of(frame));
  for_real(in.type(), [&]<class T>(T) {
    const auto draw = [&]<class U>(U) {
      for (std::int64_t i = 0; i < in.count(); ++i) {
        const auto probability = static_cast<double>(static_cast<Computed<T>>(in.data<T>()[i]));
        const bool drawn = stream.uniform(static_cast<std::uint64_t>(i)) < probability;
        out->mutable_data<U>()[i] = static_cast<U>(drawn ? 1.0f : 0.0f);
      }
    };
    if (as_bool) {
      draw(bool());
    } else {
      for_number(type, draw);
    }
  });
  return {};
}

// Each row holds unnormalized log probabilities.
Result<void> run_multinomial(Frame& frame) {
  const Array& in = frame.in(0);
  const ElementType type = type_of(frame.integer("dtype", 6));
  const std::int64_t samples = frame.integer("sample_size", 1);
  if (in.rank() != 2 || in.dim(1) < 1)
    return wrong(fmt::format("the input is {}", to_string(frame.datum(0))), "[batch, classes]");
  if (samples < 0) return wrong(fmt::format("sample_size is {}", samples), "0 or more");
  if (type != ElementType::int32 && type != ElementType::int64)
    return wrong(fmt::format("the wanted type is {}", graph::name_of(type)), "int32 or int64");
  if (!is_float(in.type())) return wrong_type(frame, 0);
  const std::int64_t rows = in.dim(0), classes = in.dim(1);
  Array* out = TRY(frame.out(0, type, {rows, samples}));
  const RandomStream stream(seed_of(frame));
  std::vector<double> sums(static_cast<std::size_t>(classes));
  for (std::int64_t row = 0; row < rows; ++row) {
    for_real(in.type(), [&]<class T>(T) {
      const T* logs = in.data<T>() + row * classes;
      const auto at = [&](std::int64_t i) { return static_cast<double>(static_cast<Computed<T>>(logs[i])); };
      double largest = at(0), sum = 0;
      for (std::int64_t i = 1; i < classes; ++i) largest = std::max(largest, at(i));
      for (std::int64_t i = 0; i < classes; ++i) {
        sum += math::exp(at(i) - largest);
        sums[static_cast<std::size_t>(i)] = sum;
      }
    });
    for (std::int64_t i = 0; i < samples; ++i) {
      const double point = stream.uniform(static_cast<std::uint64_t>(row * samples + i)) * sums.back();
      const auto found = std::upper_bound(sums.begin(), sums.end() - 1, point) - sums.begin();
      if (type == ElementType::int32) {
        out->mutable_data<std::int32_t>()[row * samples + i] = static_cast<std::int32_t>(found);
      } else {
        out->mutable_data<std::int64_t>()[row * samples + i] = found;
      }
    }
  }
  return {};
}

constexpr Descriptor random(std::string_view name, std::int16_t since, Infer infer, Run run,
                            std::size_t required) {
  return {.name = name,
          .domain = "",
          .since = {since, 22},
          .infer = infer,
          .run = run,
          .required = required,
          .pure = false};
}

}  // namespace

std::span<const Descriptor> random_descriptors() {
  static const Descriptor all[] = {
      random("RandomNormal", 1, infer_shaped, run_shaped<Kind::normal>, 0),
      random("RandomUniform", 1, infer_shaped, run_shaped<Kind::uniform>, 0),
      random("RandomNormalLike", 1, infer_like, run_like<Kind::normal>, 1),
      random("RandomUniformLike", 1, infer_like, run_like<Kind::uniform>, 1),
      random("Bernoulli", 15, infer_like, run_bernoulli, 1),
      random("Multinomial", 7, infer_multinomial, run_multinomial, 1),
  };
  return all;
}

}  // namespace anybit::ops
