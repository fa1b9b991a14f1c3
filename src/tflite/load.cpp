#include "tflite/load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/names.hpp"
#include "graph/verify.hpp"
#include "tflite/file.hpp"
#include "tflite/subgraph.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

// Quantization of 4 and 16 bits needs opset 21, which needs IR 10.
constexpr std::int64_t kOpset = 21, kIrVersion = 10;

void add_property(graph::Model& model, std::string_view key, std::string_view value) {
  graph::Property property;
  property.key = graph::Text(key);
  property.value = graph::Text(value);
  model.metadata.push_back(std::move(property));
}

// The subgraph of the first signature; without signatures the first one.
std::int64_t main_subgraph(const wire::Model& model) {
  const auto* signatures = model.signature_defs();
  return signatures && signatures->size() > 0 ? signatures->Get(0)->subgraph_index() : 0;
}

// What ONNX has no place for.
void add_metadata(const wire::Model& source, graph::Model& model) {
  if (source.description()) model.doc = graph::Text(source.description()->str());
  const auto* signatures = source.signature_defs();
  std::string keys;
  for (std::uint32_t i = 0; signatures && i < signatures->size(); ++i) {
    const auto* key = signatures->Get(i)->signature_key();
    keys += fmt::format("{}{}", i > 0 ? " " : "", key ? key->string_view() : "");
  }
  if (!keys.empty()) add_property(model, "tflite.signatures", keys);
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.code < b.code; }

const Descriptor* find(wire::BuiltinOperator code) {
  const auto rows = table();
  const auto found =
      std::ranges::lower_bound(rows, code, {}, [](const Descriptor* row) { return row->code; });
  return found != rows.end() && (*found)->code == code ? *found : nullptr;
}

Result<graph::Model> parse(const Bytes& bytes, std::string_view identifier, const LoadOptions& options) {
  File file = TRY(File::open(bytes, identifier, options.limits));
  graph::Names names;
  graph::Model model;
  model.ir_version = kIrVersion;
  model.producer = graph::Text("anybit");
  graph::OpsetImport opset;
  opset.domain = graph::Text("");
  opset.version = kOpset;
  model.opsets.push_back(std::move(opset));
  model.graph = TRY(read_subgraph(file, names, main_subgraph(file.model())));
  add_metadata(file.model(), model);
  TRY(graph::verify(model, options.limits));
  return model;
}

}  // namespace anybit::tflite
