#include "device/gather.hpp"

#include <set>

#include "api/constant_inputs.hpp"
#include "api/model_access.hpp"
#include "api/times.hpp"
#include "api/watched_values.hpp"
#include "base/try.hpp"
#include "passes/prepare.hpp"

namespace anybit {
namespace {

using calibrate::Watched;

// The inputs that the executor has: the prepared model has only the required ones.
std::map<std::string, ops::Datum> taken(const runtime::Executor& executor,
                                        const std::map<std::string, ops::Datum>& inputs) {
  std::map<std::string, ops::Datum> some;
  for (const runtime::Executor::Port& port : executor.inputs()) {
    const auto found = inputs.find(port.name);
    if (found != inputs.end()) some.insert(*found);
  }
  return some;
}

// Values that only the prepared model has, since quantization prepares the model first: values of inlined
// functions, and values with new names.
Result<std::vector<Watched>> further_values(const graph::Model& prepared, const std::vector<Watched>& known,
                                            const Limits& limits) {
  std::set<std::string> names;
  for (const Watched& one : known) names.insert(one.name);
  std::vector<Watched> further;
  for (Watched& one : TRY(watched_values(prepared, true, limits))) {
    if (names.count(one.name) == 0) further.push_back(std::move(one));
  }
  return further;
}

Result<std::vector<ops::Datum>> look(const runtime::Executor& executor, const std::vector<Watched>& watched,
                                     const std::map<std::string, ops::Datum>& inputs,
                                     std::map<std::string, calibrate::Statistics>& tensors,
                                     runtime::Profile* profile) {
  std::vector<ops::Datum> outputs;
  bool given = false;
  const auto once = [&]() -> Result<std::optional<std::map<std::string, ops::Datum>>> {
    if (std::exchange(given, true)) return std::optional<std::map<std::string, ops::Datum>>();
    return std::optional(inputs);
  };
  const auto take = [&](std::int64_t, std::vector<ops::Datum> made) {
    outputs = std::move(made);
    return Result<void>();
  };
  auto statistics = TRY(calibrate::gather(executor, watched, once,
                                          {.name_samples = false, .outputs = take, .profile = profile}));
  for (std::size_t i = 0; i < watched.size(); ++i) tensors[watched[i].name] = std::move(statistics[i]);
  return outputs;
}

}  // namespace

Result<Gatherer::Part> Gatherer::part_of(std::shared_ptr<const graph::Model> model,
                                         std::vector<Watched> watched, runtime::ExecutorOptions options) {
  for (const Watched& one : watched) options.watch.push_back(one.name);
  auto executor = TRY(runtime::Executor::make(model, options));
  return Part{std::move(model), std::move(watched), std::move(executor)};
}

Result<Gatherer> Gatherer::make(const Model& model, const runtime::ExecutorOptions& options) {
  const auto held = std::make_shared<Model>(model);
  const std::shared_ptr<const graph::Model> inner(held, &ModelAccess::content(*held).model);
  std::vector<Watched> watched = TRY(watched_values(*inner, true, options.limits));
  const Model constant = with_constant_defaults(model);
  auto prepared = std::make_shared<graph::Model>(ModelAccess::content(constant).model);
  passes::PrepareOptions preparing;
  preparing.limits = options.limits;
  TRY(passes::prepare(*prepared, preparing));
  std::vector<Watched> further = TRY(further_values(*prepared, watched, options.limits));
  Gatherer gatherer;
  gatherer.parts_.push_back(TRY(part_of(inner, std::move(watched), options)));
  if (!further.empty()) gatherer.parts_.push_back(TRY(part_of(prepared, std::move(further), options)));
  return gatherer;
}

Result<Gatherer::Seen> Gatherer::run(const std::map<std::string, ops::Datum>& inputs, bool keep_times) const {
  Seen seen;
  runtime::Profile profile;
  for (const Part& part : parts_) {
    const bool first = &part == &parts_.front();
    auto outputs = TRY(look(*part.executor, part.watched, taken(*part.executor, inputs), seen.tensors,
                            first && keep_times ? &profile : nullptr));
    if (first) seen.outputs = std::move(outputs);
  }
  take_times(profile, seen.times);
  return seen;
}

}  // namespace anybit
