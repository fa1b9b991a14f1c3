// LabelEncoder: replaces each element by its entry in a table. ONNX: ai.onnx.ml LabelEncoder-1 (strings to
// their index in a list, or back), -2 (lists of keys and values), -4 (tensors of them).
#include <cmath>
#include <optional>
#include <unordered_map>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Integer keys are looked up as int64, real ones as double: both conversions are exact.
struct Encoder final : Prepared {
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  std::unordered_map<double, std::int64_t> reals;
  std::unordered_map<std::string, std::int64_t> texts;
  std::optional<std::int64_t> nan;
  ElementType keys = ElementType::undefined;
  Array values, otherwise;
};

template <class T>
Result<Array> array_of(Memory& memory, ElementType type, std::span<const T> list) {
  Array array = TRY(Array::make(memory, type, {static_cast<std::int64_t>(list.size())}));
  std::ranges::copy(list, array.mutable_data<T>());
  return array;
}

// keys_… or values_…: a tensor, or one of three lists. Nothing if none is given.
Result<std::optional<Array>> listed(const Attributes& node, std::string_view stem, Memory& memory) {
  const auto name = [&](std::string_view kind) { return fmt::format("{}_{}", stem, kind); };
  if (const graph::Tensor* held = node.tensor(name("tensor")))
    return std::optional(TRY(Array::from(*held, memory)));
  if (const auto list = node.texts(name("strings")); list && !list->empty())
    return std::optional(TRY(array_of(memory, ElementType::string, *list)));
  if (const auto list = node.ints(name("int64s")); list && !list->empty())
    return std::optional(TRY(array_of(memory, ElementType::int64, *list)));
  if (const auto list = node.floats(name("floats")); list && !list->empty())
    return std::optional(TRY(array_of(memory, ElementType::float32, *list)));
  return std::optional<Array>();
}

Result<Array> default_for(const Attributes& node, ElementType type, Memory& memory) {
  if (const graph::Tensor* held = node.tensor("default_tensor")) {
    Array array = TRY(Array::from(*held, memory));
    if (array.type() != type || array.count() < 1)
      return wrong(fmt::format("default_tensor is {}", to_string(array)), "one element of the values' type");
    return array;
  }
  Array array = TRY(Array::make(memory, type, {}));
  if (type == ElementType::string) {
    *array.mutable_data<std::string>() = node.text("default_string", "_Unused");
    return array;
  }
  const bool known = for_number(type, [&]<class T>(T) {
    if constexpr (kIsReal<T>) {
      *array.mutable_data<T>() = static_cast<T>(static_cast<Computed<T>>(node.real("default_float", -0.0)));
    } else {
      *array.mutable_data<T>() = static_cast<T>(node.integer("default_int64", -1));
    }
  });
  if (!known) return wrong(fmt::format("the values are {}", graph::name_of(type)), "numbers or strings");
  return array;
}

Result<void> index_keys(Encoder& encoder, const Array& keys) {
  encoder.keys = keys.type();
  if (keys.type() == ElementType::string) {
    for (std::int64_t i = 0; i < keys.count(); ++i) encoder.texts[keys.data<std::string>()[i]] = i;
    return {};
  }
  const bool known = for_number(keys.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < keys.count(); ++i) {
      const auto key = static_cast<Computed<T>>(keys.data<T>()[i]);
      if constexpr (!kIsReal<T>) {
        encoder.numbers[static_cast<std::int64_t>(key)] = i;
      } else if (std::isnan(key)) {
        encoder.nan = i;
      } else {
        encoder.reals[static_cast<double>(key)] = i;
      }
    }
  });
  return known ? Result<void>() : wrong(fmt::format("the keys are {}", graph::name_of(keys.type())));
}

// Version 1: strings become their index in the list, integers the string at that index.
Result<std::shared_ptr<const Encoder>> from_classes(const Attributes& node, bool to_text, Memory& memory) {
  const auto classes = node.texts("classes_strings");
  if (!classes) return wrong("classes_strings is missing");
  std::vector<std::int64_t> places(classes->size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
  Array texts = TRY(array_of(memory, ElementType::string, *classes));
  Array numbers = TRY(array_of(memory, ElementType::int64, std::span<const std::int64_t>(places)));
  auto encoder = std::make_shared<Encoder>();
  TRY(index_keys(*encoder, to_text ? numbers : texts));
  encoder->values = to_text ? texts : numbers;
  encoder->otherwise = TRY(default_for(node, encoder->values.type(), memory));
  return std::shared_ptr<const Encoder>(std::move(encoder));
}

Result<std::shared_ptr<const Encoder>> from_lists(const Attributes& node, Memory& memory) {
  const auto keys = TRY(listed(node, "keys", memory)), values = TRY(listed(node, "values", memory));
  if (!keys || !values) return wrong("keys or values are missing", "keys_… and values_…, one of each");
  if (keys->count() != values->count())
    return wrong(fmt::format("{} keys have {} values", keys->count(), values->count()),
                 "as many values as keys");
  auto encoder = std::make_shared<Encoder>();
  TRY(index_keys(*encoder, *keys));
  encoder->values = *values;
  encoder->otherwise = TRY(default_for(node, values->type(), memory));
  return std::shared_ptr<const Encoder>(std::move(encoder));
}

// In version 1 the direction depends on the input's type.
Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  if (setup.version < 2) return std::shared_ptr<const Prepared>();
  return std::shared_ptr<const Prepared>(TRY(from_lists(setup, *setup.memory)));
}

Result<Values> infer(const Call& call) {
  ElementType type = ElementType::undefined;
  if (call.version < 2) {
    type = call.in(0).type == ElementType::string ? ElementType::int64 : ElementType::string;
  } else if (const graph::Tensor* held = call.tensor("values_tensor")) {
    type = held->type();
  } else if (const auto texts = call.texts("values_strings"); texts && !texts->empty()) {
    type = ElementType::string;
  } else {
    const auto numbers = call.ints("values_int64s");
    type = numbers && !numbers->empty() ? ElementType::int64 : ElementType::float32;
  }
  return outputs_of(call, tensor(type, call.in(0).shape));
}

template <class Map, class Key>
std::int64_t place_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? -1 : found->second;
}

Result<void> encode(Frame& frame, const Encoder& encoder) {
  const Array& in = frame.in(0);
  if (in.type() != encoder.keys)
    return wrong(fmt::format("the input is {}", to_string(frame.datum(0))),
                 fmt::format("as the keys: {}", graph::name_of(encoder.keys)));
  Array* out = TRY(frame.out(0, encoder.values.type(), in.dims()));
  const auto put = [&](std::int64_t i, std::int64_t place) {
    for_copied(encoder.values.type(), [&]<class T>(T) {
      out->mutable_data<T>()[i] =
          place < 0 ? encoder.otherwise.data<T>()[0] : encoder.values.data<T>()[place];
    });
  };
  if (in.type() == ElementType::string) {
    for (std::int64_t i = 0; i < in.count(); ++i) put(i, place_in(encoder.texts, in.data<std::string>()[i]));
    return {};
  }
  for_number(in.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const auto key = static_cast<Computed<T>>(in.data<T>()[i]);
      if constexpr (!kIsReal<T>) {
        put(i, place_in(encoder.numbers, static_cast<std::int64_t>(key)));
      } else {
        put(i,
            std::isnan(key) ? encoder.nan.value_or(-1) : place_in(encoder.reals, static_cast<double>(key)));
      }
    }
  });
  return {};
}

Result<void> run(Frame& frame) {
  if (const Encoder* encoder = frame.prepared<Encoder>()) return encode(frame, *encoder);
  const bool to_text = frame.in(0).type() != ElementType::string;
  return encode(frame, frame.version < 2 ? *TRY(from_classes(frame, to_text, frame.memory()))
                                         : *TRY(from_lists(frame, frame.memory())));
}

}  // namespace

std::span<const Descriptor> label_encoder_descriptors() {
  static const Descriptor all[] = {{.name = "LabelEncoder",
                                    .domain = "ai.onnx.ml",
                                    .since = {1, 2, 4},
                                    .infer = infer,
                                    .run = run,
                                    .prepare = prepare}};
  return all;
}

}  // namespace anybit::ops
