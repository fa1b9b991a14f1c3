// Quantizes a session's model with the gathered ranges, and switches to the result.
#include <filesystem>

#include "anybit/calibrate.hpp"
#include "anybit/samples.hpp"
#include "api/constant_inputs.hpp"
#include "api/ranges.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "device/session.hpp"

namespace anybit {
namespace {

// A single word is the name of a preset.
Result<Recipe> recipe_of(const std::string& text) {
  const bool word = text.find_first_of(" \t\n:{") == std::string::npos;
  return word ? Recipe::preset(text) : Recipe::from_text(text, "recipe");
}

Result<void> check_not_same(const std::string& a, const std::string& b) {
  std::error_code error;
  if (!std::filesystem::equivalent(a, b, error) || error) return {};
  return invalid_argument(fmt::format("'{}' is the float model itself", shown(a)), "another path");
}

// Quantizes without ranges, which may be enough. If ranges are requested after all, the error is `missing`.
Result<Quantization> quantized_without(const Model& model, const Recipe& recipe, const Error& missing,
                                       const QuantizeOptions& options) {
  bool asked = false;
  auto none = TRY(Samples::from([&]() -> Result<std::optional<Sample>> {
    asked = true;
    return missing;
  }));
  auto result = quantize(model, recipe, &none, options);
  if (asked) return missing;
  return result;
}

}  // namespace

Result<void> DeviceSession::set_recipe(const std::string& text) {
  Recipe recipe = TRY(recipe_of(text));
  std::string copy = text;
  recipe_ = std::move(recipe);
  recipe_text_ = std::move(copy);
  return {};
}

std::string DeviceSession::quantized_file() const {
  if (!quantized_path_.empty() || path_.empty()) return quantized_path_;
  return std::filesystem::path(path_).replace_extension(".q.onnx").string();
}

const char* DeviceSession::quantized_path() const {
  return quantized_ && !quantized_->path.empty() ? quantized_->path.c_str() : nullptr;
}

Result<DeviceSession::Quantized> DeviceSession::make_quantized(std::string path, Model model) const {
  Executor executor = TRY(executor_for(model));
  Grids grids = grids_of(model);
  return Quantized{std::move(path),  recipe_text_,        reproducible_,
                   std::move(model), std::move(executor), std::move(grids)};
}

Result<void> DeviceSession::quantize() {
  TRY(check_no_variables("quantizing"));
  if (!recipe_)
    return error_at(Code::invalid_state, {}, "no quantization type or recipe is set",
                    "anybit_set_quantization_type or anybit_set_quantization_recipe before");
  const std::string path = quantized_file();
  if (!path.empty() && !path_.empty()) TRY(check_not_same(path, path_));
  DeviceRanges* const gathered = TRY(ranges());
  TRY(gathered->save());
  auto all = gathered->all();
  const Model model = with_constant_defaults(*model_);
  // The ranges were gathered for the model, and are valid for this form of it, too.
  if (all.ok()) all->model = TRY(content_hash(model));
  QuantizeOptions options;
  options.threads = threads_;
  options.max_memory = max_memory_;
  options.reproducible = reproducible_;
  const auto quantized = [&]() -> Result<Quantization> {
    if (!all.ok()) return quantized_without(model, *recipe_, all.error(), options);
    const Ranges known = RangesAccess::make(std::move(all).value());
    QuantizeOptions with = options;
    with.ranges = &known;
    return anybit::quantize(model, *recipe_, nullptr, with);
  };
  Model made = TRY(quantized()).model;
  if (!path.empty()) {
    auto saved = made.save(path);
    if (!saved.ok()) return in_file(std::move(saved).error(), path);
    made = TRY(Model::load(path, load_));
  }
  quantized_ = TRY(make_quantized(path, std::move(made)));
  generated_.reset();
  executor_.reset();
  state_ = State::prepared;
  return {};
}

}  // namespace anybit
