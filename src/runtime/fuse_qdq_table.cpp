// Operators on single elements between 8-bit integers: there are 256 inputs, so whatever lies between a
// quantized value and a QuantizeLinear is a table, made by running it once on all of them. Exact. What a
// value is computed from may branch and meet again (x · clip(x + 3) / 6), and may be quantized on the way, as
// long as everything stems from one 8-bit value and constants that are single numbers.
#include <algorithm>
#include <map>

#include "runtime/context.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

constexpr std::string_view kUnary[] = {"Relu",
                                       "LeakyRelu",
                                       "Elu",
                                       "Selu",
                                       "Celu",
                                       "HardSigmoid",
                                       "HardSwish",
                                       "Sigmoid",
                                       "Tanh",
                                       "Gelu",
                                       "Softplus",
                                       "Softsign",
                                       "Mish",
                                       "Swish",
                                       "Exp",
                                       "Log",
                                       "Sqrt",
                                       "Erf",
                                       "Abs",
                                       "Neg",
                                       "Floor",
                                       "Ceil",
                                       "Round",
                                       "Reciprocal",
                                       "Clip",
                                       "ThresholdedRelu",
                                       "Shrink",
                                       "Sin",
                                       "Cos",
                                       "Identity",
                                       "DequantizeLinear",
                                       "QuantizeLinear"};
constexpr std::string_view kBinary[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow"};

template <std::size_t N>
bool among(const std::string_view (&names)[N], const Step& step) {
  return step.descriptor->domain.empty() &&
         std::ranges::find(names, step.descriptor->name) != std::end(names);
}

// What a value is a function of, element by element.
struct Origin {
  int root = -1;         // the slot of an 8-bit value
  ElementType type{};    // of the root
  std::size_t rank = 0;  // of the constants on the way: the result has at least this many dimensions
  std::vector<std::size_t> steps;  // from the root, sorted
};

class Origins {
 public:
  explicit Origins(Qdq& qdq) : qdq_(qdq) {}

  // Of a step's only output; nothing if it has none.
  const Origin* add(std::size_t index) {
    const Step& step = qdq_.program.steps[index];
    if (step.outputs.size() != 1 || step.outputs[0] < 0) return nullptr;
    auto found = among(kUnary, step) ? of_unary(step) : among(kBinary, step) ? of_binary(step) : std::nullopt;
    if (!found && is(step, "DequantizeLinear")) found = of_root(step);
    if (!found || found->steps.size() > kLongest) return nullptr;
    const auto place = std::ranges::lower_bound(found->steps, index);
    if (place == found->steps.end() || *place != index) found->steps.insert(place, index);
    return &(known_[step.outputs[0]] = *std::move(found));
  }

 private:
  static constexpr std::size_t kLongest = 64;

  std::optional<Origin> known(int slot) const {
    const auto found = known_.find(slot);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  // A DequantizeLinear of a value that is not itself a function of another.
  std::optional<Origin> of_root(const Step& step) {
    const auto x = qdq_.activation(step.outputs[0]);
    if (!x || qdq_.edit.constant(x->value)) return std::nullopt;
    return Origin{x->value, qdq_.type_of(x->zero_point), 0, {}};
  }

  bool is_number(int slot) const {
    const Array* value = qdq_.edit.constant(slot);
    return value && value->count() == 1 && value->rank() <= 1;
  }

  std::optional<Origin> of_unary(const Step& step) {
    auto origin = known(step.inputs[0]);
    for (std::size_t i = 1; origin && i < step.inputs.size(); ++i) {
      if (step.inputs[i] >= 0 && !is_number(step.inputs[i])) return std::nullopt;
    }
    return origin;
  }

  std::optional<Origin> of_binary(const Step& step) {
    if (step.inputs.size() != 2 || step.version < 7) return std::nullopt;
    auto a = known(step.inputs[0]), b = known(step.inputs[1]);
    if (!a) std::swap(a, b);
    if (!a) return std::nullopt;
    if (!b) {
      const int other = known_.count(step.inputs[0]) != 0 ? step.inputs[1] : step.inputs[0];
      // A number may itself be quantized: its DequantizeLinear has only constant inputs.
      const int maker = qdq_.edit.producer(other);
      const auto stored = maker < 0 ? std::nullopt : qdq_.from(other);
      const Array* number = qdq_.edit.constant(stored ? stored->value : other);
      if (!number || number->count() != 1 || number->rank() > 1 || (stored && !stored->per_tensor))
        return std::nullopt;
      a->rank = std::max(a->rank, number->rank());
      if (stored) a->steps.insert(std::ranges::lower_bound(a->steps, stored->step), stored->step);
      return a;
    }
    if (a->root != b->root) return std::nullopt;
    std::vector<std::size_t> both;
    std::ranges::set_union(a->steps, b->steps, std::back_inserter(both));
    a->steps = std::move(both);
    a->rank = std::max(a->rank, b->rank);
    return a;
  }

  Qdq& qdq_;
  std::map<int, Origin> known_;
};

// All codes in the order of their bytes: 0, 1, … 255.
Result<Array> all_codes(ops::Memory& memory, ElementType type) {
  Array codes = TRY(Array::make(memory, type, {256}));
  for (int i = 0; i < 256; ++i) codes.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return codes;
}

Result<Array> table_of(Context& context, const Program& program, const Origin& origin, int result,
                       const Resources& resources) {
  context.slot(origin.root) = TRY(all_codes(*resources.memory, origin.type));
  for (const std::size_t index : origin.steps) TRY(context.run_step(index));
  const ops::Datum& made = context.slot(result);
  if (!made.is_array() || made.array.count() != 256 || ops::element_bytes(made.array.type()) != 1) {
    return ops::wrong(
        fmt::format("'{}' is not a table", program.slots[static_cast<std::size_t>(result)].name));
  }
  return made.array.copy(*resources.memory);
}

struct Table {
  std::size_t step;
  Origin origin;
  Array entries;
};

// The operator that a reader of a profile would look for: the last one that is not about quantization.
std::string name_of(const Program& program, const Origin& origin) {
  for (auto i = origin.steps.rbegin(); i != origin.steps.rend(); ++i) {
    const Step& step = program.steps[*i];
    if (!is(step, "QuantizeLinear") && !is(step, "DequantizeLinear")) return step.node->op_type.str();
  }
  return {};
}

Result<void> run(Program& program, const Resources& resources) {
  Qdq qdq(program, resources);
  Origins origins(qdq);
  std::vector<std::pair<std::size_t, Origin>> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Origin* origin = origins.add(i);
    // DequantizeLinear and QuantizeLinear alone are no work for a table: they go when parameters are the
    // same.
    if (origin && is(program.steps[i], "QuantizeLinear") && qdq.from_quantizer(i) &&
        !name_of(program, *origin).empty()) {
      found.emplace_back(i, *origin);
    }
  }
  std::vector<Table> tables;
  {
    Context context(program, resources.memory, resources.pool);
    for (const auto& [step, origin] : found) {
      auto entries = table_of(context, program, origin, program.steps[step].outputs[0], resources);
      if (entries.ok())
        tables.push_back({step, origin, std::move(entries).value()});  // else the run says what is wrong
    }
  }
  for (Table& table : tables) {
    graph::Node node = *program.steps[table.step].node;
    node.op_type = graph::Text("LookUp");
    node.domain = graph::Text("ai.anybit");
    node.attributes.clear();
    set_attribute(node, "of", name_of(program, table.origin));
    set_attribute(node, "rank", static_cast<std::int64_t>(table.origin.rank));
    const int held = qdq.edit.add_constant(std::move(table.entries));
    TRY(qdq.edit.replace(table.step, std::move(node), {table.origin.root, held}));
  }
  qdq.edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_qdq_table_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq-table",
       .order = 5,
       .summary = "operators on single elements between 8-bit integers become tables",
       .run = run}};
  return all;
}

}  // namespace anybit::runtime
