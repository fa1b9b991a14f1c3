// Quantizes a model to int8, measures the difference, and runs the result.
//
//   quantize_and_run MODEL.onnx CALIBRATION OUT.onnx
//
// CALIBRATION is a file or folder as `anybit quantize --calib` takes it: .npy, .npz, images, …
#include <anybit/compare.hpp>
#include <anybit/executor.hpp>
#include <anybit/model.hpp>
#include <anybit/quantize.hpp>
#include <anybit/samples.hpp>

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace {

// Errors are values: `error().text()` says what is wrong, where, and what would be right.
template <class T>
T check(anybit::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s MODEL.onnx CALIBRATION OUT.onnx\n", words[0]);
    return 2;
  }
  const anybit::Model model = check(anybit::Model::load(words[1]));
  const auto inputs = check(anybit::inputs_of(model));
  anybit::Samples samples = check(anybit::open_samples(inputs, {words[2]}, {.limit = 100}));

  // Calibrates on the samples. A recipe may also be a file: Recipe::from_file("recipe.yaml").
  const anybit::Recipe recipe = check(anybit::Recipe::preset("int8"));
  const anybit::Quantization done = check(anybit::quantize(model, recipe, &samples));
  check(done.model.save(words[3]));
  std::printf("weights: %lld -> %lld bytes\n", static_cast<long long>(done.report.weight_bytes_before),
              static_cast<long long>(done.report.weight_bytes_after));

  // The same samples again, through both models.
  check(samples.rewind());
  const anybit::Comparison comparison = check(anybit::compare(model, done.model, samples));
  for (const anybit::Difference& output : comparison.outputs)
    std::printf("%s: SQNR %.1f dB, cosine %.4f\n", output.name.c_str(), output.sqnr, output.cosine);

  // One run. An executor may be used from several threads at a time.
  const anybit::Executor executor = check(anybit::Executor::make(done.model, {.threads = 1}));
  check(samples.rewind());
  const auto sample = check(samples.next());
  if (!sample) return 0;
  const auto outputs = check(executor.run(*sample));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    std::printf("output %s\n", executor.outputs()[i].type.c_str());
  return 0;
}
