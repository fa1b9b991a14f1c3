// Before IR version 4, every initializer had to be listed among the graph's inputs. This pass removes these
// inputs and raises the model to IR version 4, where initializers are constants. In newer models such inputs
// are real defaults and stay.
#include <algorithm>
#include <set>

#include "passes/table.hpp"

namespace anybit::passes {
namespace {

constexpr std::int64_t kConstantsStandAlone = 4;

Result<std::int64_t> run(graph::Model& model, const PassOptions&) {
  if (!model.graph || model.ir_version.value_or(0) >= kConstantsStandAlone) return 0;
  std::set<std::string_view> initialized;
  for (const graph::Tensor& one : model.graph->initializers) initialized.insert(one.name.str());
  const auto dropped = std::erase_if(model.graph->inputs, [&](const graph::ValueInfo& one) {
    return initialized.find(one.name.str()) != initialized.end();
  });
  model.ir_version = kConstantsStandAlone;
  return static_cast<std::int64_t>(dropped);
}

}  // namespace

std::span<const Descriptor> free_initializers_descriptors() {
  static const Descriptor all[] = {{.name = "free_initializers",
                                    .order = 10,
                                    .summary = "removes initializers from the inputs of old files",
                                    .run = run,
                                    .always = true}};
  return all;
}

}  // namespace anybit::passes
