// Feature preparation: ArrayFeatureExtractor, Binarizer, Imputer, Normalizer, OneHotEncoder, Scaler. ONNX:
// ai.onnx.ml, version 1 of each.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_float(const Call& call) {
  return outputs_of(call, tensor(ElementType::float32, call.in(0).shape));
}

Result<Values> infer_extractor(const Call& call) {
  Value value = tensor(call.in(0).type, call.in(0).shape);
  if (value.shape) value.shape->empty() ? value.shape.reset() : void(value.shape->back() = Dim());
  if (value.shape && value.shape->size() == 1) value.shape = unknown_shape(2);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_one_hot(const Call& call) {
  Value value = tensor(ElementType::float32, call.in(0).shape);
  const auto texts = call.texts("cats_strings");
  const auto numbers = call.ints("cats_int64s");
  const bool text = call.in(0).type == ElementType::string;
  const bool known = call.in(0).type != ElementType::undefined;
  const std::size_t count = text && texts ? texts->size() : !text && numbers ? numbers->size() : 0;
  if (value.shape) value.shape->push_back(known ? Dim(static_cast<std::int64_t>(count)) : Dim());
  return outputs_of(call, std::move(value));
}

// Gathers elements of the last axis. A vector counts as one row.
Result<void> run_extractor(Frame& frame) {
  const Array &in = frame.in(0), &places = frame.in(1);
  if (places.type() != ElementType::int64) return wrong_type(frame, 1);
  if (in.rank() == 0) return wrong_type(frame, 0);
  const std::int64_t width = in.dims().back();
  if (!has_elements(places)) return {};
  for (const std::int64_t place : places.elements<std::int64_t>()) {
    if (place < 0 || place >= width)
      return wrong(fmt::format("index {} is outside an axis of size {}", place, width),
                   fmt::format("0 to {}", width - 1));
  }
  Dims dims = in.dims();
  if (dims.size() == 1) dims.insert(0, 1);
  const std::int64_t rows = dims.product(0, dims.size() - 1), count = places.count();
  dims.back() = count;
  Array* out = TRY(frame.out(0, in.type(), dims));
  for_copied(in.type(), [&]<class T>(T) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i) {
        out->mutable_data<T>()[row * count + i] = in.data<T>()[row * width + places.data<std::int64_t>()[i]];
      }
    }
  });
  return {};
}

Result<void> run_binarizer(Frame& frame) {
  const Array& in = frame.in(0);
  const double threshold = frame.real("threshold", 0);
  if (!for_number(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_number(in.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const bool above = static_cast<double>(static_cast<Computed<T>>(in.data<T>()[i])) > threshold;
      out->mutable_data<T>()[i] = static_cast<T>(above ? 1.0f : 0.0f);
    }
  });
  return {};
}

std::int64_t width_of(const Array& in) { return in.rank() == 0 ? 1 : in.dims().back(); }

// One value for all features, or one per feature.
template <class T>
Result<void> check_list(std::string_view name, std::span<const T> list, std::int64_t width) {
  if (list.size() == 1 || static_cast<std::int64_t>(list.size()) == width) return {};
  return wrong(fmt::format("{} has {} elements", name, list.size()), fmt::format("1 or {}", width));
}

Result<void> run_imputer(Frame& frame) {
  const Array& in = frame.in(0);
  const std::int64_t width = width_of(in);
  const bool integer = !is_float(in.type());
  const auto numbers = frame.ints("imputed_value_int64s");
  const auto reals = frame.floats("imputed_value_floats");
  if (integer ? !numbers : !reals)
    return wrong(fmt::format("no imputed values are given for {}", to_string(in)));
  TRY(integer ? check_list("imputed_value_int64s", *numbers, width)
              : check_list("imputed_value_floats", *reals, width));
  const std::int64_t number = frame.integer("replaced_value_int64", 0);
  const double real = frame.real("replaced_value_float", 0);
  if (!for_number(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_number(in.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const auto value = static_cast<Computed<T>>(in.data<T>()[i]);
      const auto column = static_cast<std::size_t>(i % width);
      if constexpr (kIsReal<T>) {
        const auto wide = static_cast<double>(value);
        const bool replaced = std::isnan(real) ? std::isnan(wide) : wide == real;
        const float other = (*reals)[reals->size() == 1 ? 0 : column];
        out->mutable_data<T>()[i] = static_cast<T>(replaced ? static_cast<Computed<T>>(other) : value);
      } else {
        const std::int64_t other = (*numbers)[numbers->size() == 1 ? 0 : column];
        const bool replaced = static_cast<std::int64_t>(value) == number;
        out->mutable_data<T>()[i] = replaced ? static_cast<T>(other) : value;
      }
    }
  });
  return {};
}

Result<void> run_normalizer(Frame& frame) {
  const Array& in = frame.in(0);
  const std::string_view norm = frame.text("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return wrong(fmt::format("norm is '{}'", shown(norm)), "MAX, L1 or L2");
  const std::int64_t width = width_of(in);
  if (!for_number(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, ElementType::float32, in.dims()));
  for_number(in.type(), [&]<class T>(T) {
    for (std::int64_t row = 0; row < (width ? in.count() / width : 0); ++row) {
      const T* from = in.data<T>() + row * width;
      const auto at = [&](std::int64_t i) { return static_cast<double>(static_cast<Computed<T>>(from[i])); };
      double divisor = norm == "MAX" ? std::numeric_limits<double>::lowest() : 0;
      for (std::int64_t i = 0; i < width; ++i) {
        divisor = norm == "MAX"  ? std::max(divisor, at(i))
                  : norm == "L1" ? divisor + std::abs(at(i))
                                 : divisor + at(i) * at(i);
      }
      if (norm == "L2") divisor = std::sqrt(divisor);
      for (std::int64_t i = 0; i < width; ++i)
        out->mutable_data<float>()[row * width + i] =
            static_cast<float>(divisor == 0 ? at(i) : at(i) / divisor);
    }
  });
  return {};
}

Result<void> run_scaler(Frame& frame) {
  const Array& in = frame.in(0);
  const std::int64_t width = width_of(in);
  const auto offset = frame.floats("offset"), scale = frame.floats("scale");
  if (!offset || !scale) return wrong("offset or scale is missing");
  TRY(check_list("offset", *offset, width));
  TRY(check_list("scale", *scale, width));
  if (!for_number(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, ElementType::float32, in.dims()));
  for_number(in.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const auto column = static_cast<std::size_t>(i % width);
      const auto value = static_cast<float>(static_cast<Computed<T>>(in.data<T>()[i]));
      out->mutable_data<float>()[i] =
          (value - (*offset)[offset->size() == 1 ? 0 : column]) * (*scale)[scale->size() == 1 ? 0 : column];
    }
  });
  return {};
}

template <class Key, class At>
Result<void> mark(Frame& frame, std::span<const Key> categories, const At& at) {
  const Array& in = frame.in(0);
  if (in.rank() >= Dims::kCapacity) return wrong("the tensor has too many dimensions");
  std::unordered_map<Key, std::size_t> places;
  for (std::size_t i = 0; i < categories.size(); ++i) places[categories[i]] = i;
  Dims dims = in.dims();
  dims.push_back(static_cast<std::int64_t>(categories.size()));
  Array* out = TRY(frame.out(0, ElementType::float32, dims));
  std::ranges::fill(out->elements<float>(), 0.0f);
  for (std::int64_t i = 0; i < in.count(); ++i) {
    const auto found = places.find(at(i));
    if (found != places.end()) {
      out->mutable_data<float>()[static_cast<std::size_t>(i) * categories.size() + found->second] = 1.0f;
    } else if (!frame.flag("zeros", true)) {
      return wrong(fmt::format("element {} is not in the list of categories", i));
    }
  }
  return {};
}

Result<void> run_one_hot(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.type() == ElementType::string) {
    const auto categories = frame.texts("cats_strings");
    if (!categories) return wrong("cats_strings is missing");
    return mark<std::string>(frame, *categories, [&](std::int64_t i) { return in.data<std::string>()[i]; });
  }
  const auto categories = frame.ints("cats_int64s");
  if (!categories) return wrong("cats_int64s is missing");
  Result<void> done = wrong_type(frame, 0);
  for_number(in.type(), [&]<class T>(T) {
    done = mark<std::int64_t>(frame, *categories, [&](std::int64_t i) {
      const auto value = static_cast<Computed<T>>(in.data<T>()[i]);
      if constexpr (kIsReal<T>) {
        // Values beyond int64 match no category, except for the smallest int64.
        const bool fits = std::abs(static_cast<double>(value)) < 0x1p63;
        return fits ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min();
      } else {
        return static_cast<std::int64_t>(value);
      }
    });
  });
  return done;
}

constexpr Descriptor feature(std::string_view name, Infer infer, Run run, std::size_t required = 1) {
  return {
      .name = name, .domain = "ai.onnx.ml", .since = {1}, .infer = infer, .run = run, .required = required};
}

}  // namespace

std::span<const Descriptor> ml_features_descriptors() {
  static const Descriptor all[] = {
      feature("ArrayFeatureExtractor", infer_extractor, run_extractor, 2),
      feature("Binarizer", infer_same, run_binarizer),
      feature("Imputer", infer_same, run_imputer),
      feature("Normalizer", infer_float, run_normalizer),
      feature("OneHotEncoder", infer_one_hot, run_one_hot),
      feature("Scaler", infer_float, run_scaler),
  };
  return all;
}

}  // namespace anybit::ops
