#include "train/options.hpp"

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::train {
namespace {

// An option: its description, and its place in TrainingOptions.
struct Option {
  formats::Parameter parameter;
  formats::Value (*get)(const TrainingOptions&);
  void (*set)(TrainingOptions&, const formats::Value&);
};

template <auto Field>
formats::Value get_field(const TrainingOptions& options) {
  using T = std::remove_cvref_t<decltype(options.*Field)>;
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return static_cast<std::int64_t>(options.*Field);
  else
    return options.*Field;
}

template <auto Field>
void set_field(TrainingOptions& options, const formats::Value& value) {
  using T = std::remove_cvref_t<decltype(options.*Field)>;
  if constexpr (std::is_same_v<T, std::uint64_t>)
    options.*Field = static_cast<T>(std::get<std::int64_t>(value));
  else
    options.*Field = std::get<T>(value);
}

template <auto Field>
Option option(std::string_view name, std::string_view doc, double low = -1e300, double high = 1e300,
              std::vector<std::string_view> choices = {}) {
  return {{name, get_field<Field>(TrainingOptions()), doc, low, high, std::move(choices)},
          get_field<Field>,
          set_field<Field>};
}

const std::vector<Option>& options_table() {
  static const std::vector<Option> all = {
      option<&TrainingOptions::steps>("steps", "number of steps; 0: 600 to 4,000 by the size of the model", 0,
                                      1e9),
      option<&TrainingOptions::minutes>("minutes", "as many steps as fit into this time; 0: `steps`", 0, 1e5),
      option<&TrainingOptions::loss>("loss", "kl, mse, cosine or ce; auto: by the outputs", 0, 0,
                                     {"auto", "kl", "mse", "cosine", "ce"}),
      option<&TrainingOptions::optimizer>("optimizer", "adam (AdamW) or sgd (with momentum)", 0, 0,
                                          {"adam", "sgd"}),
      option<&TrainingOptions::schedule>("schedule", "of the learning rate", 0, 0,
                                         {"cosine", "step", "constant"}),
      option<&TrainingOptions::rate>("rate", "the learning rate at the start", 1e-9, 10),
      option<&TrainingOptions::step_rate>(
          "step_rate", "factor for the steps of quantizers; 0: they are not learned", 0, 100),
      option<&TrainingOptions::weight_decay>("weight_decay", "decoupled weight decay of weights and biases",
                                             0, 10),
      option<&TrainingOptions::temperature>("temperature", "of scores in kl", 0.01, 1000),
      option<&TrainingOptions::clip>("clip", "largest norm of the gradients; 0: no limit", 0, 1e9),
      option<&TrainingOptions::average>("average", "decay of a moving average of the weights; 0: none", 0,
                                        0.999999),
      option<&TrainingOptions::batch>("batch", "samples per step; 0: 64", 0, 1 << 20),
      option<&TrainingOptions::accumulate>("accumulate", "batches per step whose gradients are added up", 1,
                                           1 << 20),
      option<&TrainingOptions::augment>(
          "augment", "changes of images; auto: those that the float model knows, if there are few images", 0,
          0,
          {"auto", "none", "shift", "flip", "mix", "shift,flip", "shift,mix", "flip,mix", "shift,flip,mix"}),
      option<&TrainingOptions::seed>("seed", "of the order of the samples and of their changes", 0, 9e18),
  };
  return all;
}

}  // namespace

std::span<const formats::Parameter> option_list() {
  static const std::vector<formats::Parameter> all = [] {
    std::vector<formats::Parameter> list;
    for (const Option& one : options_table()) list.push_back(one.parameter);
    return list;
  }();
  return all;
}

Result<TrainingOptions> options_of(const formats::Values& given) {
  const formats::Values values = TRY(formats::complete("training", option_list(), given));
  TrainingOptions options;
  for (const Option& one : options_table()) one.set(options, values.find(one.parameter.name)->second);
  return options;
}

formats::Values values_of(const TrainingOptions& options) {
  formats::Values values;
  for (const Option& one : options_table()) {
    const formats::Value value = one.get(options);
    if (value != one.parameter.preset) values[std::string(one.parameter.name)] = value;
  }
  return values;
}

Result<TrainingOptions> merged(const formats::Values& base, const TrainingOptions& over) {
  formats::Values values = base;
  for (const auto& [name, value] : values_of(over)) values[name] = value;
  const TrainingOptions read = TRY(options_of(values));
  TrainingOptions result = over;
  for (const Option& one : options_table()) one.set(result, one.get(read));
  return result;
}

}  // namespace anybit::train
