// The executor for Python tests, through plain C calls. Values are handles; the last error is a string.
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "io/model_file.hpp"
#include "io/onnx/save.hpp"
#include "ops/table.hpp"
#include "passes/prepare.hpp"
#include "passes/raise_opset.hpp"
#include "passes/recognise.hpp"
#include "runtime/executor.hpp"
#include "train/backward.hpp"

using namespace anybit;

namespace {

thread_local std::string last_error;

struct Loaded {
  std::shared_ptr<graph::Model> model;
  std::unique_ptr<runtime::Executor> executor;
};

ops::Memory& values_memory() {
  static const std::shared_ptr<ops::Memory> memory = ops::Memory::make();
  return *memory;
}

template <class T>
bool failed(const Result<T>& result) {
  if (!result.ok()) last_error = result.error().text();
  return !result.ok();
}

std::unique_ptr<Loaded> prepared(Result<graph::Model> model, int threads, std::int64_t max_memory,
                                 bool fuse) {
  if (failed(model)) return nullptr;
  auto loaded = std::make_unique<Loaded>();
  loaded->model = std::make_shared<graph::Model>(std::move(model).value());
  auto executor =
      runtime::Executor::make(loaded->model, {.threads = threads, .max_memory = max_memory, .fuse = fuse});
  if (failed(executor)) return nullptr;
  loaded->executor = std::move(executor).value();
  return loaded;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* executor_error() { return last_error.c_str(); }

EXPORT Loaded* executor_load(const char* path, int threads, std::int64_t max_memory, int fuse) {
  return prepared(io::load(path), threads, max_memory, fuse != 0).release();
}
EXPORT Loaded* executor_parse(const char* bytes, std::size_t size, int threads, std::int64_t max_memory,
                              int fuse) {
  return prepared(io::parse(Bytes::own(std::string(bytes, size))), threads, max_memory, fuse != 0).release();
}
// The bytes of the model in another opset (0: the newest); null if that is not possible.
EXPORT const char* model_raise(const char* bytes, std::size_t size, std::int64_t opset, std::size_t* length) {
  static thread_local std::string raised;
  auto model = io::parse(Bytes::own(std::string(bytes, size)));
  if (failed(model)) return nullptr;
  auto result = passes::raise_opset(*model, opset ? std::optional(opset) : std::nullopt);
  if (failed(result)) return nullptr;
  auto text = onnx::serialize(result->model);
  if (failed(text)) return nullptr;
  raised = std::move(text).value();
  *length = raised.size();
  return raised.data();
}
// The bytes of the model after the passes in `only`, one per line; after all passes if it is empty. Writes
// the changes to `changes`: "name number", one per line.
EXPORT const char* model_prepare(const char* bytes, std::size_t size, const char* only, const char* keep,
                                 std::size_t* length, const char** changes) {
  static thread_local std::string prepared, told;
  auto model = io::parse(Bytes::own(std::string(bytes, size)));
  if (failed(model)) return nullptr;
  passes::PrepareOptions options;
  std::istringstream names(only), kept(keep);
  for (std::string line; std::getline(kept, line);) options.keep.insert(line);
  if (*only) options.only.emplace();
  for (std::string line; std::getline(names, line);) options.only->push_back(line);
  const auto results = passes::prepare(*model, options);
  if (failed(results)) return nullptr;
  told.clear();
  for (const passes::PassResult& one : *results)
    told += std::string(one.name) + " " + std::to_string(one.changes) + "\n";
  auto text = onnx::serialize(*model);
  if (failed(text)) return nullptr;
  prepared = std::move(text).value();
  *length = prepared.size();
  *changes = told.c_str();
  return prepared.data();
}
// The recognized groups of the graph: "kind|node names|inputs|output", one per line; names are separated by
// spaces.
EXPORT const char* model_recognise(const char* bytes, std::size_t size) {
  static thread_local std::string text;
  auto model = io::parse(Bytes::own(std::string(bytes, size)));
  if (failed(model)) return nullptr;
  text.clear();
  for (const passes::Group& group : passes::recognise(*model->graph)) {
    text += group.kind + "|";
    for (const int node : group.nodes)
      text += model->graph->nodes[static_cast<std::size_t>(node)].op_type.str() + " ";
    text += "|";
    for (const std::string& name : group.inputs) text += name + " ";
    text += "|" + group.output + "\n";
  }
  return text.c_str();
}
// The bytes of the model with the gradients of `loss` with regard to `wanted` (one per line) as further
// outputs.
EXPORT const char* model_gradients(const char* bytes, std::size_t size, const char* loss, const char* wanted,
                                   int recompute, std::size_t* length) {
  static thread_local std::string text;
  auto model = io::parse(Bytes::own(std::string(bytes, size)));
  if (failed(model)) return nullptr;
  std::istringstream lines(wanted);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  const auto gradients = train::add_gradients(*model, loss, names, {.recompute = recompute != 0});
  if (failed(gradients)) return nullptr;
  for (const std::string& name : *gradients) {
    graph::ValueInfo& output = model->graph->outputs.emplace_back();
    output.name = graph::Text(name);
  }
  auto result = onnx::serialize(*model);
  if (failed(result)) return nullptr;
  text = std::move(result).value();
  *length = text.size();
  return text.data();
}
// The operators with a gradient rule, "domain:Name", one per line.
EXPORT const char* operators_with_gradient() {
  static thread_local std::string text;
  text.clear();
  for (const ops::Descriptor* one : ops::table()) {
    if (one->gradient) text += std::string(one->domain) + ":" + std::string(one->name) + "\n";
  }
  return text.c_str();
}
EXPORT void executor_free(Loaded* loaded) { delete loaded; }
EXPORT int executor_input_count(const Loaded* loaded) {
  return static_cast<int>(loaded->executor->inputs().size());
}
EXPORT const char* executor_input_name(const Loaded* loaded, int i) {
  return loaded->executor->inputs()[static_cast<std::size_t>(i)].name.c_str();
}
// The operators of the steps after fusion, one per line.
EXPORT const char* executor_steps(const Loaded* loaded) {
  static thread_local std::string text;
  text.clear();
  for (const runtime::Step& step : loaded->executor->program().steps) {
    text += std::string(step.descriptor->domain) + ":" + std::string(step.descriptor->name) + "\n";
  }
  return text.c_str();
}

EXPORT ops::Datum* value_array(int type, const std::int64_t* dims, int rank, const void* data) {
  auto array = ops::Array::make(values_memory(), static_cast<ops::ElementType>(type),
                                ops::Dims(std::span(dims, static_cast<std::size_t>(rank))));
  if (failed(array)) return nullptr;
  if (data && array->byte_count() > 0) std::memcpy(array->mutable_bytes(), data, array->byte_count());
  return new ops::Datum(std::move(array).value());
}
EXPORT void value_set_string(ops::Datum* value, std::int64_t i, const char* text, std::size_t size) {
  value->array.mutable_data<std::string>()[i] = std::string(text, size);
}
EXPORT ops::Datum* value_sequence(int type, ops::Datum* const* items, int count) {
  auto sequence = std::make_shared<ops::Sequence>();
  sequence->element = static_cast<ops::ElementType>(type);
  for (int i = 0; i < count; ++i) sequence->items.push_back(*items[i]);
  return new ops::Datum(std::shared_ptr<const ops::Sequence>(std::move(sequence)));
}
EXPORT ops::Datum* value_nothing() { return new ops::Datum(); }
EXPORT void value_free(ops::Datum* value) { delete value; }
EXPORT int value_kind(const ops::Datum* value) { return static_cast<int>(value->kind); }
EXPORT int value_type(const ops::Datum* value) { return static_cast<int>(value->array.type()); }
EXPORT int value_rank(const ops::Datum* value) { return static_cast<int>(value->array.rank()); }
EXPORT std::int64_t value_dim(const ops::Datum* value, int axis) {
  return value->array.dim(static_cast<std::size_t>(axis));
}
EXPORT const void* value_data(const ops::Datum* value) { return value->array.bytes(); }
EXPORT const char* value_string(const ops::Datum* value, std::int64_t i, std::size_t* size) {
  const std::string& text = value->array.data<std::string>()[i];
  *size = text.size();
  return text.data();
}
EXPORT int value_length(const ops::Datum* value) { return static_cast<int>(value->sequence->items.size()); }
EXPORT ops::Datum* value_item(const ops::Datum* value, int i) {
  return new ops::Datum(value->sequence->items[static_cast<std::size_t>(i)]);
}

// Runs with inputs by name; writes the handles of all outputs to `outputs`. -1 on an error.
EXPORT int executor_run(const Loaded* loaded, const char* const* names, ops::Datum* const* values, int count,
                        ops::Datum** outputs, int capacity) {
  std::map<std::string, ops::Datum> inputs;
  for (int i = 0; i < count; ++i) inputs[names[i]] = *values[i];
  auto result = loaded->executor->run(inputs);
  if (failed(result)) return -1;
  for (std::size_t i = 0; i < result->size() && i < static_cast<std::size_t>(capacity); ++i) {
    outputs[i] = new ops::Datum(std::move((*result)[i]));
  }
  return static_cast<int>(result->size());
}
// The nanoseconds of one run, without call overhead; -1 on an error.
EXPORT std::int64_t executor_time(const Loaded* loaded, const char* const* names, ops::Datum* const* values,
                                  int count) {
  std::map<std::string, ops::Datum> inputs;
  for (int i = 0; i < count; ++i) inputs[names[i]] = *values[i];
  const std::int64_t begin = runtime::now_nanoseconds();
  auto result = loaded->executor->run(inputs);
  const std::int64_t end = runtime::now_nanoseconds();
  return failed(result) ? -1 : end - begin;
}
EXPORT std::int64_t executor_peak_memory(const Loaded* loaded) { return loaded->executor->memory().peak(); }
