// Bytes → model → view → C: for every model that loads, code is generated, or there is an error with a
// reason. Models are also mutated structurally: input sizes, numbers in attributes.
#include <algorithm>
#include <random>
#include <string>
#include <variant>

#include "../scratch_folder.hpp"
#include "codegen/view.hpp"
#include "generate.hpp"
#include "io/onnx/load.hpp"
#include "io/onnx/save.hpp"

using namespace anybit;

extern "C" std::size_t LLVMFuzzerMutate(unsigned char* data, std::size_t size, std::size_t most);

namespace {

constexpr std::size_t kMostBytes = 16 << 10;

Result<graph::Model> parsed(const unsigned char* data, std::size_t size) {
  return onnx::parse(Bytes::own(std::string(reinterpret_cast<const char*>(data), size)));
}

void append(void* target, const char* bytes, std::size_t count) {
  static_cast<std::string*>(target)->append(bytes, count);
}

std::int64_t other(std::int64_t number, std::minstd_rand& chance) {
  const std::int64_t near = static_cast<std::int64_t>(chance() % 5) - 2;
  constexpr std::int64_t kOdd[] = {0, 1, -1, 7, 1000};
  return chance() % 2 == 0 ? std::clamp<std::int64_t>(number, -1000, 1000) + near : kOdd[chance() % 5];
}

void change_input(graph::Graph& graph, std::minstd_rand& chance) {
  if (graph.inputs.empty()) return;
  auto& type = graph.inputs[chance() % graph.inputs.size()].type;
  auto* tensor = type ? std::get_if<graph::TensorType>(&type->kind) : nullptr;
  if (!tensor || !tensor->shape) return;
  auto& dims = tensor->shape->dims;
  if (dims.empty() || chance() % 8 == 0) {
    dims.emplace_back().value = std::int64_t{1};
  } else if (chance() % 8 == 0) {
    dims.pop_back();
  } else {
    graph::Dimension& dim = dims[chance() % dims.size()];
    dim.value = std::max<std::int64_t>(other(dim.known() ? dim.size() : 1, chance), 0);
  }
}

void change_attribute(graph::Graph& graph, std::minstd_rand& chance) {
  if (graph.nodes.empty()) return;
  graph::Node& node = graph.nodes[chance() % graph.nodes.size()];
  if (node.attributes.empty()) return;
  auto& value = node.attributes[chance() % node.attributes.size()].value;
  if (auto* number = std::get_if<std::int64_t>(&value)) *number = other(*number, chance);
  if (auto* list = std::get_if<std::vector<std::int64_t>>(&value); list && !list->empty()) {
    std::int64_t& one = (*list)[chance() % list->size()];
    one = other(one, chance);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  std::minstd_rand chance(seed);
  if (chance() % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  auto model = parsed(data, size);
  if (!model.ok() || model->graph->nodes.empty()) return LLVMFuzzerMutate(data, size, most);
  for (unsigned i = 0; i <= chance() % 3; ++i)
    chance() % 2 == 0 ? change_input(*model->graph, chance) : change_attribute(*model->graph, chance);
  const auto bytes = onnx::serialize(*model);
  if (!bytes.ok() || bytes->size() > most) return LLVMFuzzerMutate(data, size, most);
  std::ranges::copy(*bytes, data);
  return bytes->size();
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size > kMostBytes) return 0;
  const auto model = parsed(data, size);
  if (!model.ok()) return 0;
  const auto view = codegen::fused_view({*model, "", ""}, {});
  if (!view.ok()) {
    require(!view.error().message.empty(), "an error without a message");
    return 0;
  }
  std::string said;
  anybit_text text{&said, append};
  const anybit_codegen_options options{ANYBIT_PREFER_DEFAULT, 0, nullptr, nullptr};
  const std::string path = scratch_folder() + "/net.c";
  if (cgen::generate(&(*view)->view(), &options, path.c_str(), &text) != 0)
    require(!said.empty(), "an error without a reason");
  return 0;
}
