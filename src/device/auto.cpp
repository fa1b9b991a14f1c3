// run_with_auto_compilation: from runs of the float model to the quantized model and to generated code. After
// a restart it finds the results of earlier sessions.
#include "anybit/calibrate.hpp"
#include "anybit/version.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "device/record.hpp"
#include "device/session.hpp"

namespace anybit {
namespace {

constexpr std::string_view kDefaultRecipe = "int8";
// Ranges are saved after this many runs: a power failure loses no more than these.
constexpr std::int64_t kSaveEvery = 16;

Result<std::string> generator_hash(const std::string& generator, const CodegenOptions& options) {
  return file_hash(TRY(codegen::Plugin::find(generator, options.folders))->library());
}

std::string shapes_text(const CodegenOptions& options) {
  std::string text;
  for (const auto& [name, dims] : options.shapes)
    text += fmt::format("{}{}=[{}]", text.empty() ? "" : " ", name, fmt::join(dims, ","));
  return text;
}

std::string kernels_named(bool reproducible) { return reproducible ? "reproducible" : "of the CPU"; }

}  // namespace

// Takes over the results of an earlier session if this one would produce the same.
Result<void> DeviceSession::adopt(const std::string& generator, anybit_preference preference) {
  const std::string path = TRY(kept_file(".compiled.json"));
  const auto record = path.empty() ? std::nullopt : load_record(path);
  if (!record || record->version != version().text || record->model != *TRY(hash()) ||
      record->recipe != recipe_text_ || record->kernels != kernels_named(reproducible_) ||
      record->quantized != quantized_file())
    return {};
  auto model = Model::load(record->quantized, load_);
  const auto found = model.ok() ? content_hash(*model) : std::string();
  if (!found.ok() || *found != record->quantized_hash) return {};
  quantized_ = TRY(make_quantized(record->quantized, std::move(model).value()));
  executor_.reset();
  const bool named = generated_path_.empty() || record->generated == generated_path_;
  if (generator.empty() || record->generator != generator || record->preference != preference || !named)
    return {};
  const CodegenOptions options = codegen_options(preference);
  if (record->shapes != shapes_text(options)) return {};
  const auto library = generator_hash(generator, options), code = file_hash(record->generated);
  if (!library.ok() || *library != record->generator_hash) return {};
  if (!code.ok() || *code != record->generated_hash) return {};
  auto generated = GeneratedModel::load(quantized_->model, generator, record->generated, options);
  if (generated.ok()) generated_ = std::move(generated).value();
  return {};
}

Result<void> DeviceSession::note_compiled() {
  const std::string path = TRY(kept_file(".compiled.json"));
  if (path.empty() || quantized_->path.empty()) return {};
  DeviceRecord record;
  record.version = std::string(version().text);
  record.model = *TRY(hash());
  record.recipe = quantized_->recipe;
  record.kernels = kernels_named(quantized_->reproducible);
  record.quantized = quantized_->path;
  record.quantized_hash = TRY(content_hash(quantized_->model));
  if (generated_) {
    record.generator = generated_->generator();
    record.preference = generated_->preference();
    const CodegenOptions options = codegen_options(generated_->preference());
    record.generator_hash = TRY(generator_hash(record.generator, options));
    record.shapes = shapes_text(options);
    record.generated = generated_->path();
    record.generated_hash = TRY(file_hash(record.generated));
  }
  return save_record(record, path);
}

// Returns to the float model if the quantized one was made with another recipe than the current one.
Result<void> DeviceSession::drop_stale() {
  if (!quantized_ || !recipe_ || quantized_->recipe == recipe_text_) return {};
  executor_ = TRY(executor_for(*model_));
  quantized_.reset();
  generated_.reset();
  return {};
}

Result<void> DeviceSession::run_auto(std::int64_t threshold, const std::string& generator,
                                     anybit_preference preference) {
  if (threshold < 1)
    return invalid_argument(fmt::format("a threshold of {} runs", threshold), "at least one");
  TRY(check_no_variables("compilation"));
  TRY(drop_stale());
  if (!recipe_ && !quantized_) TRY(set_recipe(std::string(kDefaultRecipe)));
  if (!quantized_ && !looked_for_record_) {
    TRY(adopt(generator, preference));
    looked_for_record_ = true;
  }
  const auto compiled = [&] {
    return quantized_ && (generator.empty() || (generated_ && generated_->generator() == generator &&
                                                generated_->preference() == preference));
  };
  if (compiled()) return run();
  // The generated code, which does not exist yet, may be the only permitted backend.
  const bool runs_first = !quantized_ || check_backend().ok();
  if (quantized_) {
    if (runs_first) TRY(run());
  } else {
    TRY(run_and_gather());
    state_ = State::ran;
    const std::int64_t runs = TRY(TRY(ranges())->runs());
    if (runs < threshold) return runs % kSaveEvery == 0 ? ranges_->save() : Result<void>();
    TRY(quantize());
  }
  if (!compiled()) TRY(codegen(generator, preference));
  if (!runs_first) TRY(run());
  state_ = State::ran;
  return note_compiled();
}

}  // namespace anybit
