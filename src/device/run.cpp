// Runs a session's model, and records ranges and times.
#include "anybit/profile.hpp"
#include "api/executor_options.hpp"
#include "api/value.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "base/try.hpp"
#include "device/session.hpp"

namespace anybit {
namespace {

constexpr std::uint32_t kConfigs = ANYBIT_GATHER_RANGES | ANYBIT_PROFILE | ANYBIT_TRACE;
constexpr std::size_t kLongestTrace = 1'000'000;  // nodes; later ones are not recorded

}  // namespace

Result<DeviceRanges*> DeviceSession::ranges() {
  if (!ranges_) {
    std::string path = TRY(kept_file(".ranges.json"));
    ranges_.emplace(*TRY(hash()), std::move(path));
  }
  return &*ranges_;
}

bool DeviceSession::keeps_times() const { return (config_ & (ANYBIT_PROFILE | ANYBIT_TRACE)) != 0; }

void DeviceSession::keep_times(RunProfile profile) {
  if (config_ & ANYBIT_TRACE && traced_nodes_ + profile.entries.size() <= kLongestTrace) {
    trace_.push_back(profile);
    traced_nodes_ += profile.entries.size();
  }
  profiled_ = keeps_times();
  last_profile_ = std::move(profile);
}

Result<void> DeviceSession::run_and_gather() {
  const ReproducibleScope scope(reproducible_);
  DeviceRanges* const ranges = TRY(this->ranges());
  if (!gatherer_) gatherer_ = TRY(Gatherer::make(*model_, executor_options(*model_, threads_, max_memory_)));
  std::map<std::string, ops::Datum> inputs;
  const auto values = TRY(input_values());
  for (const auto& [name, value] : values) inputs.emplace(name, TRY(to_datum(value)));
  Gatherer::Seen seen = TRY(gatherer_->run(inputs, keeps_times()));
  std::vector<Value> outputs;
  for (const ops::Datum& one : seen.outputs) outputs.push_back(to_value(one));
  TRY(deliver(outputs));
  keep_times(std::move(seen.times));
  return ranges->add(std::move(seen.tensors));
}

// Rejects buffers for inputs whose default became a constant: their values would be ignored silently.
Result<void> DeviceSession::check_defaults() const {
  if (!quantized_ && !runs_generated()) return {};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].required || !input_buffers_[i].bytes) continue;
    return error_at(Code::invalid_argument, fmt::format("input '{}'", shown(inputs_[i].name)),
                    fmt::format("it has a buffer, but {} made the model's default a constant",
                                runs_generated() ? "code generation" : "quantization"),
                    "anybit_set_input with NULL for it; the float model takes other values");
  }
  return {};
}

Result<void> DeviceSession::run_in_use() {
  TRY(check_backend());
  TRY(check_defaults());
  const auto inputs = TRY(input_values());
  if (runs_generated()) {
    TRY(deliver(TRY(generated_->run(inputs))));
    profiled_ = false;
    return {};
  }
  const Executor& executor = quantized_ ? quantized_->executor : *executor_;
  RunProfile profile;
  TRY(deliver(TRY(executor.run(inputs, keeps_times() ? &profile : nullptr))));
  keep_times(std::move(profile));
  return {};
}

Result<void> DeviceSession::run() {
  if (config_ & ANYBIT_GATHER_RANGES) {
    TRY(run_and_gather());
  } else {
    TRY(run_in_use());
  }
  state_ = State::ran;
  return {};
}

Result<void> DeviceSession::set_config(std::uint32_t config) {
  if ((config & ~kConfigs) != 0 || config == 0)
    return invalid_argument(fmt::format("there is no config {}", config),
                            "ANYBIT_GATHER_RANGES, ANYBIT_PROFILE, ANYBIT_TRACE, joined by |");
  if (config & ANYBIT_GATHER_RANGES) TRY(check_no_variables("gathering ranges"));
  if (config & ANYBIT_TRACE && TRY(kept_file(".trace.json")).empty())
    return invalid_argument("there is no place for a trace", "anybit_set_workspace before");
  config_ |= config;
  return {};
}

Result<void> DeviceSession::save_trace() {
  if (trace_.empty()) return {};
  AtomicFile file = TRY(AtomicFile::create(TRY(kept_file(".trace.json"))));
  TRY(file.write(profile_trace(trace_)));
  TRY(file.commit());
  trace_.clear();
  traced_nodes_ = 0;
  return {};
}

Result<void> DeviceSession::save_all() {
  if (ranges_) TRY(ranges_->save());
  return save_trace();
}

Result<void> DeviceSession::reset_config() {
  TRY(save_all());
  config_ = 0;
  gatherer_.reset();
  return {};
}

Result<const char*> DeviceSession::profile() {
  if (!profiled_)
    return error_at(Code::invalid_state, {}, "the last run kept no times",
                    "anybit_set_execute_config with ANYBIT_PROFILE before a run by anybit itself");
  profile_text_ = profile_json({last_profile_});
  return profile_text_.c_str();
}

}  // namespace anybit
