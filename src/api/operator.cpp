// Operator of the public header: a node without a model, on the memory and threads of its caller.
#include "anybit/operator.hpp"

#include "api/operator_frame.hpp"
#include "api/value.hpp"
#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "base/host_threads.hpp"
#include "graph/node.hpp"
#include "ops/check.hpp"

namespace anybit {
namespace {

constexpr std::size_t kMostInputs = 1024;

graph::Node node_of(const OperatorNode& from) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < from.inputs; ++i) inputs.push_back(fmt::format("input{}", i));
  graph::Node node = graph::make_node(from.op_type, std::move(inputs), {"output"}, {}, from.domain);
  for (const auto& [name, value] : from.attributes) {
    node.attributes.push_back(
        std::visit([&](const auto& one) { return graph::attribute(name, one); }, value));
  }
  return node;
}

// A view of the caller's elements; a copy if they are not aligned or not normalized.
Result<ops::Datum> datum_of(const TensorView& view, ops::Memory& memory) {
  if (view.type.empty()) return ops::Datum();
  const ops::ElementType type = TRY(element_type(view.type));
  if (type == ops::ElementType::string)
    return error_at(Code::unsupported, {}, "strings cannot be given to a single operator");
  const ops::Dims dims = TRY(checked_dims(view.dims));
  const std::int64_t bytes = TRY(ops::array_bytes(type, dims, ops::Layout::plain));
  if (bytes != 0 && view.data == nullptr)
    return invalid_argument(fmt::format("{}{} has no data", view.type, to_string(dims)));
  const Bytes held = Bytes({}, {static_cast<const std::byte*>(view.data), static_cast<std::size_t>(bytes)})
                         .aligned(std::min<std::size_t>(16, ops::element_bytes(type)));
  ops::Datum datum(ops::Array::over(type, dims, const_cast<std::byte*>(held.data()), held.owner()));
  auto mended = TRY(ops::mended(datum, memory));
  return mended ? *std::move(mended) : datum;
}

std::string place_of(const OperatorNode& node) {
  return node.name.empty() ? fmt::format("operator {}", shown(node.op_type))
                           : fmt::format("node '{}' ({})", shown(node.name), shown(node.op_type));
}

struct OperatorSetup final : ops::Setup {
  using Setup::Setup;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
};

struct CallerThreads {
  explicit CallerThreads(OperatorHost& host) : threads{run, &host} {}
  static void run(void* host, std::size_t count, void (*task)(void*, std::size_t), void* data) {
    static_cast<OperatorHost*>(host)->parallel(count, task, data);
  }
  HostThreads threads;
  HostThreadsScope scope{threads};
};

}  // namespace

OperatorHost::~OperatorHost() = default;

void OperatorHost::parallel(std::size_t count, void (*task)(void* data, std::size_t i), void* data) {
  for (std::size_t i = 0; i < count; ++i) task(data, i);
}

struct Operator::State {
  State(const OperatorNode& from, const ops::Descriptor& of)
      : place(place_of(from)), node(node_of(from)), descriptor(of) {}

  std::string place;
  graph::Node node;
  const ops::Descriptor& descriptor;
  std::int64_t version = 0;
  std::vector<ops::Datum> constants;
  std::shared_ptr<ops::Memory> memory = ops::Memory::make();
  std::shared_ptr<const ops::Prepared> prepared;
  mutable ThreadPool pool{1};  // its chunks run on the threads of the host

  Result<void> prepare(const OperatorNode& from);
  Result<void> run(std::span<const TensorView> inputs, OperatorHost& host) const;
};

Result<void> Operator::State::prepare(const OperatorNode& from) {
  if (from.constants.size() > from.inputs)
    return invalid_argument(fmt::format("{} constants for {} inputs", from.constants.size(), from.inputs));
  std::vector<const ops::Array*> arrays;
  for (const TensorView& view : from.constants) constants.push_back(TRY(datum_of(view, *memory)));
  constants.resize(from.inputs);
  for (const ops::Datum& one : constants) arrays.push_back(one.is_array() ? &one.array : nullptr);
  if (!descriptor.prepare) return {};
  OperatorSetup setup(node);
  setup.version = version;
  setup.constants = arrays;
  setup.memory = memory.get();
  setup.output_count = 1;
  prepared = TRY(descriptor.prepare(setup));
  return {};
}

Result<void> Operator::State::run(std::span<const TensorView> inputs, OperatorHost& host) const {
  if (inputs.size() != constants.size())
    return invalid_argument(fmt::format("{} inputs", inputs.size()), fmt::format("{}", constants.size()));
  std::vector<ops::Datum> data(inputs.size());
  std::vector<const ops::Datum*> pointers(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!constants[i].is_array()) data[i] = TRY(datum_of(inputs[i], *memory));
    const ops::Datum& one = constants[i].is_array() ? constants[i] : data[i];
    if (one.is_array()) pointers[i] = &one;
    if (i < descriptor.required && !one.is_array()) return ops::wrong(fmt::format("input {} is missing", i));
  }
  OperatorFrame frame(node, pointers, host, *memory, pool, prepared.get());
  frame.version = version;
  const CallerThreads threads(host);
  return descriptor.run(frame);
}

Result<Operator> Operator::make(const OperatorNode& from) noexcept {
  return guarded([&]() -> Result<Operator> {
    const ops::Descriptor* descriptor = ops::find(from.domain, from.op_type);
    if (!descriptor || !descriptor->run)
      return error_at(
          Code::not_found, place_of(from),
          fmt::format("there is no operator {} in domain '{}'", shown(from.op_type), shown(from.domain)));
    if (from.inputs > kMostInputs)
      return invalid_argument(fmt::format("{} inputs", from.inputs), fmt::format("at most {}", kMostInputs));
    auto state = std::make_shared<State>(from, *descriptor);
    const auto made = [&]() -> Result<void> {
      state->version = TRY(ops::checked_version(*descriptor, state->node, from.opset));
      return state->prepare(from);
    }();
    if (!made.ok()) return Error(made.error()).within(state->place);
    return Operator(std::move(state));
  });
}

Result<void> Operator::run(std::span<const TensorView> inputs, OperatorHost& host) const noexcept {
  return guarded([&]() -> Result<void> {
    auto done = state_->run(inputs, host);
    if (!done.ok()) return std::move(done).error().within(state_->place);
    return {};
  });
}

}  // namespace anybit
