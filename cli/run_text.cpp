#include "run_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "json_members.hpp"
#include "numbers.hpp"
#include "profile_text.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

// Without the first of several runs, which includes memory planning.
std::vector<RunProfile> warm(const std::vector<RunProfile>& profiles) {
  return profiles.size() > 1 ? std::vector(profiles.begin() + 1, profiles.end()) : profiles;
}

std::string time_text(std::vector<double> times) {
  if (times.size() == 1) return fmt::format("{:.3f} ms", times[0]);
  const double first = times[0];
  std::ranges::sort(times);
  return fmt::format("{:.3f} ms best, {:.3f} ms median of {} runs (first {:.3f} ms)", times[0],
                     times[times.size() / 2], times.size(), first);
}

std::string hits_text(const Hits& hits) {
  const auto percent = [&](std::int64_t count) {
    return 100 * static_cast<double>(count) / static_cast<double>(hits.rows);
  };
  return fmt::format("Labels  top-1 {:.2f} %, top-5 {:.2f} % of {} rows\n", percent(hits.top1),
                     percent(hits.top5), long_count(hits.rows));
}

std::string ports_text(const Executor& executor, const RunOutcome& outcome) {
  const SampleOutcome& first = outcome.samples[0];
  const auto others = [&](const std::string& name) {
    return outcome.varying.contains(name) ? "  (of the first sample; others differ)" : "";
  };
  Table table({{""}, {""}, {""}});
  for (const Port& port : executor.inputs()) {
    const auto given = first.inputs.find(port.name);
    if (given == first.inputs.end()) continue;
    const bool made_up = first.made_up.contains(port.name);
    table.add({"Input", shortened(printable(port.name), 40),
               given->second + others(port.name) + (made_up ? "  (random: no file was given)" : "")});
  }
  for (std::size_t i = 0; i < first.outputs.size(); ++i) {
    const std::string& name = executor.outputs()[i].name;
    table.add({"Output", shortened(printable(name), 40), first.outputs[i] + others(name)});
  }
  return table.text(0);
}

Json sample_json(const Executor& executor, const SampleOutcome& sample) {
  Json inputs = Json::object(), outputs = Json::object();
  for (const auto& [name, type] : sample.inputs)
    add_member(inputs, name, {{"type", type}, {"random", sample.made_up.contains(name)}});
  std::set<std::string_view> added;  // a model may list an output twice
  for (std::size_t i = 0; i < sample.outputs.size(); ++i) {
    const std::string& name = executor.outputs()[i].name;
    if (added.insert(name).second) add_member(outputs, name, {{"type", sample.outputs[i]}});
  }
  Json json = {{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  json["milliseconds"] = sample.milliseconds;
  return json;
}

Json samples_json(const Executor& executor, const RunOutcome& outcome) {
  Json json = Json::array();
  for (const SampleOutcome& one : outcome.samples) {
    Json sample = {{"name", one.name}};
    sample.update(sample_json(executor, one));
    sample["written"] = one.written;
    json.push_back(std::move(sample));
  }
  return json;
}

std::vector<std::string> all_written(const RunOutcome& outcome) {
  std::vector<std::string> all;
  for (const SampleOutcome& one : outcome.samples)
    all.insert(all.end(), one.written.begin(), one.written.end());
  if (!outcome.trace.empty()) all.push_back(outcome.trace);
  return all;
}

}  // namespace

void RunOutcome::add(SampleOutcome sample, const std::vector<Port>& ports) {
  ++count;
  files += std::ssize(sample.written);
  milliseconds.insert(milliseconds.end(), sample.milliseconds.begin(), sample.milliseconds.end());
  if (!samples.empty()) {
    for (const auto& [name, type] : sample.inputs) {
      const auto before = samples[0].inputs.find(name);
      if (before == samples[0].inputs.end() || before->second != type) varying.insert(name);
    }
    for (std::size_t i = 0; i < sample.outputs.size(); ++i)
      if (samples[0].outputs[i] != sample.outputs[i]) varying.insert(ports[i].name);
  }
  if (keeps_all || samples.empty()) samples.push_back(std::move(sample));
}

std::string run_text(const Executor& executor, const RunOutcome& outcome, bool profile) {
  const SampleOutcome& first = outcome.samples[0];
  std::string text = ports_text(executor, outcome);
  if (!outcome.single) text += fmt::format("Samples {}\n", long_count(outcome.count));
  if (outcome.gathered > 0)
    text += fmt::format("Ranges  of {} runs{}\n", outcome.gathered,
                        first.made_up.empty() ? "" : " on random values: real data gives a better model");
  if (!outcome.quantized.empty()) text += fmt::format("Written {}\n", outcome.quantized);
  if (!outcome.generated.empty()) text += fmt::format("Written {}\n", outcome.generated);
  text += fmt::format("Time    {}{}\n", time_text(outcome.milliseconds),
                      outcome.by_backend ? ", by the generator's backend" : "");
  if (outcome.hits) text += hits_text(*outcome.hits);
  if (!outcome.by_backend)
    text +=
        fmt::format("Memory  {} for activations and packed weights\n", short_bytes(executor.peak_memory()));
  // Lists the files of the first sample only; the names of the others follow the same pattern.
  for (const std::string& path : first.written) text += fmt::format("Written {}\n", path);
  if (const std::int64_t more = outcome.files - std::ssize(first.written); more > 0)
    text += fmt::format("Written {} more files, for the other samples\n", long_count(more));
  if (!outcome.trace.empty()) text += fmt::format("Written {}\n", outcome.trace);
  const Executor::Decoded decoded = executor.decoded();
  if (profile && decoded.weights > 0)
    text += fmt::format("Decoded {} packed weights once, when the model was loaded: {} as float32\n",
                        decoded.weights, short_bytes(decoded.bytes));
  if (profile) text += to_text(warm(outcome.profiles));
  return text;
}

std::string run_json(const Executor& executor, const RunOutcome& outcome, bool profile) {
  Json json = outcome.single ? sample_json(executor, outcome.samples[0])
                             : Json{{"samples", samples_json(executor, outcome)}};
  json.update(Json{{"milliseconds", outcome.milliseconds},
                   {"peak_bytes", executor.peak_memory()},
                   {"decoded_weights", executor.decoded().weights},
                   {"decoded_bytes", executor.decoded().bytes},
                   {"written", all_written(outcome)}});
  if (outcome.on_device) {
    json["quantized"] = outcome.quantized;
    json["generated"] = outcome.generated;
    json["ranges_runs"] = outcome.gathered;
    json["by_backend"] = outcome.by_backend;
  }
  if (outcome.hits) {
    const auto rows = static_cast<double>(outcome.hits->rows);
    json["labels"] = {{"rows", outcome.hits->rows},
                      {"top1", static_cast<double>(outcome.hits->top1) / rows},
                      {"top5", static_cast<double>(outcome.hits->top5) / rows}};
  }
  if (profile) json["nodes"] = Json::parse(profile_json(warm(outcome.profiles)));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
