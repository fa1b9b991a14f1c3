// anybit convert-opset MODEL: converts a model to a newer opset.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "anybit/convert_opset.hpp"
#include "command.hpp"
#include "numbers.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

struct ConvertOpsetFlags {
  std::string model, output;
  LoadOptions load;
  std::optional<std::int64_t> opset;
  bool in_place = false, json = false;
};

Result<void> run(const ConvertOpsetFlags& options) {
  if (auto checked = check_output(options.model, options.output, options.in_place); !checked.ok())
    return checked;
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  auto conversion = convert_opset(*model, options.opset);
  if (!conversion.ok()) return in_file(std::move(conversion).error(), options.model);
  auto saved = conversion->model.save(options.output);
  if (!saved.ok()) return in_file(std::move(saved).error(), options.output);
  if (options.json) {
    const nlohmann::ordered_json result{
        {"from", conversion->from}, {"to", conversion->to}, {"changed_nodes", conversion->changed_nodes}};
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("opset {} -> {}, {} nodes changed\n", conversion->from, conversion->to,
               conversion->changed_nodes);
  }
  return {};
}

std::function<Result<void>()> set_up_convert_opset(CLI::App& app) {
  auto options = std::make_shared<ConvertOpsetFlags>();
  app.add_option("MODEL", options->model, "The ONNX file")->required();
  app.add_option("-o,--output", options->output, "Where to write the new file")->required();
  app.add_option("--opset", options->opset, "The opset to convert to [the newest]")
      ->transform(parse_integer());
  add_in_place_flag(app, options->in_place);
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command convert_opset_command() {
  return {"Convert a model to a newer opset: graph, subgraphs and functions", set_up_convert_opset};
}

}  // namespace anybit::cli
