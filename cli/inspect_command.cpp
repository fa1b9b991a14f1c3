// anybit inspect MODEL: describes a model.
#include <fmt/format.h>

#include <memory>

#include "anybit/inspect.hpp"
#include "command.hpp"
#include "inspection_text.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

struct InspectFlags {
  std::string model;
  LoadOptions load;
  std::vector<std::string> shapes, dims;
  bool json = false;
  bool nodes = false;
};

Result<void> run(const InspectFlags& options) {
  auto shapes = parse_shapes("--input-shape", options.shapes);
  if (!shapes.ok()) return std::move(shapes).error();
  auto dims = parse_dims(options.dims);
  if (!dims.ok()) return std::move(dims).error();
  auto model = Model::load(options.model, options.load);
  if (!model.ok()) return in_file(std::move(model).error(), options.model);
  auto inspection = inspect(*model, {*std::move(shapes), *std::move(dims)});
  if (!inspection.ok()) return in_file(std::move(inspection).error(), options.model);
  fmt::print("{}", options.json ? to_json(*inspection) : to_text(*inspection, options.nodes));
  return {};
}

std::function<Result<void>()> set_up_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectFlags>();
  app.add_option("MODEL", options->model, "The ONNX file")->required();
  app.add_flag("--nodes", options->nodes, "Also list every node, with shapes and multiply-accumulates");
  app.add_flag("--json", options->json, "Print everything as JSON");
  app.add_option("--input-shape", options->shapes,
                 "Fix the shape of an input: x=1,3,640,640 (may be repeated)")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
  app.add_option("--dim", options->dims,
                 "Fix a symbolic dimension wherever it occurs: batch=8 (may be repeated)")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command inspect_command() {
  return {"Describe a model: inputs, parameters, multiply-accumulates, operators, quantization",
          set_up_inspect};
}

}  // namespace anybit::cli
