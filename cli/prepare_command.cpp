// anybit prepare MODEL: runs the graph passes that quantization runs first.
#include "anybit/prepare.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

struct PrepareFlags {
  std::string model, output;
  LoadOptions load;
  std::vector<std::string> passes, keep;
  bool list = false, in_place = false, json = false;
};

void list_passes(bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const PassInfo& one : preparation_passes())
      list.push_back({{"name", one.name}, {"summary", one.summary}, {"always", one.always}});
    fmt::print("{}\n", list.dump(2));
    return;
  }
  Table table({{"PASS"}, {"SUMMARY"}, {""}});
  for (const PassInfo& one : preparation_passes())
    table.add({one.name, one.summary, one.always ? "always runs" : ""});
  fmt::print("{}", table.text(0));
}

void print_json_prepare(const Preparation& prepared, const Model& model) {
  auto passes = nlohmann::ordered_json::array();
  for (const PassChanges& one : prepared.passes)
    passes.push_back({{"name", one.name}, {"changes", one.changes}, {"summary", one.summary}});
  auto remarks = nlohmann::ordered_json::array();
  for (const Error& one : model.remarks()) remarks.push_back(one.place + ": " + one.message);
  for (const std::string& one : prepared.remarks) remarks.push_back(one);
  const nlohmann::ordered_json result{{"nodes_before", prepared.nodes_before},
                                      {"nodes_after", prepared.nodes_after},
                                      {"passes", passes},
                                      {"remarks", remarks}};
  fmt::print("{}\n", result.dump(2));
}

void print_table_prepare(const Preparation& prepared) {
  fmt::print("{} nodes -> {} nodes\n", prepared.nodes_before, prepared.nodes_after);
  Table table({{"PASS"}, {"CHANGES", Table::Align::right}, {"SUMMARY"}});
  for (const PassChanges& one : prepared.passes) {
    if (one.changes > 0) table.add({one.name, long_count(one.changes), one.summary});
  }
  if (!table.empty()) fmt::print("\n{}", table.text(0));
  for (const std::string& one : prepared.remarks) fmt::print("\nremark: {}\n", printable(one));
}

Result<void> run(const PrepareFlags& options) {
  if (options.list) {
    list_passes(options.json);
    return {};
  }
  if (options.model.empty())
    return Error{Code::invalid_argument, "no model is given", {}, "anybit prepare MODEL -o OUT, or --list"};
  if (auto checked = check_output(options.model, options.output, options.in_place); !checked.ok())
    return checked;
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  PrepareOptions with{.passes = {}, .keep = options.keep};
  if (!options.passes.empty()) with.passes = options.passes;
  auto prepared = prepare(*model, with);
  if (!prepared.ok()) return in_file(std::move(prepared).error(), options.model);
  if (!options.output.empty()) {
    auto saved = prepared->model.save(options.output);
    if (!saved.ok()) return in_file(std::move(saved).error(), options.output);
  }
  options.json ? print_json_prepare(*prepared, *model) : print_table_prepare(*prepared);
  return {};
}

std::function<Result<void>()> set_up_prepare(CLI::App& app) {
  auto options = std::make_shared<PrepareFlags>();
  app.add_flag("--list", options->list, "List the passes, in the order in which they run");
  app.add_option("MODEL", options->model, "The ONNX file");
  app.add_option("-o,--output", options->output, "Where to write the prepared model");
  app.add_option("--pass", options->passes, "Run only this pass (may be repeated) [all passes]");
  app.add_option("--keep", options->keep, "A node, by name, to leave unchanged (may be repeated)");
  add_in_place_flag(app, options->in_place);
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command prepare_command() {
  return {"Prepare a model for quantization by graph passes, and list the changes", set_up_prepare};
}

}  // namespace anybit::cli
