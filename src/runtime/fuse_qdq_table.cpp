// Elementwise operators between 8-bit or 16-bit integers: there are only 256 or 65,536 inputs, so the
// operators between a quantized value and a QuantizeLinear become a lookup table, computed by one run over
// all inputs. Exact. The subgraph may branch and join again (x · clip(x + 3) / 6) and may contain Q/DQ pairs,
// if it depends on one quantized value and on scalar constants only.
#include <algorithm>
#include <map>

#include "runtime/context.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

// Whether each output element depends on one element of each data input; this includes quantization.
bool by_element(const Step& step) {
  if (dequantizes(step) || quantizes(step)) return true;
  return step.descriptor->domain.empty() && (step.descriptor->traits.by_element || is(step, "Identity"));
}

// The subgraph of elementwise operators behind a value.
struct Origin {
  int root = -1;                   // the slot of the quantized value at its start
  ElementType type{};              // of the root
  std::size_t rank = 0;            // of the constants: the result has at least this many dimensions
  std::vector<std::size_t> steps;  // sorted
};

class Origins {
 public:
  explicit Origins(Qdq& qdq) : qdq_(qdq) {}

  // The origin of a step's only output; null if it has none.
  const Origin* add(std::size_t index) {
    const Step& step = qdq_.program.steps[index];
    if (step.outputs.size() != 1 || step.outputs[0] < 0) return nullptr;
    auto found = by_element(step) ? of_inputs(step) : std::nullopt;
    if (!found && dequantizes(step)) found = of_root(step);
    if (!found || found->steps.size() > kLongest) return nullptr;
    add_step(found->steps, index);
    return &(known_[step.outputs[0]] = *std::move(found));
  }

 private:
  static constexpr std::size_t kLongest = 64;

  static void add_step(std::vector<std::size_t>& steps, std::size_t step) {
    const auto place = std::ranges::lower_bound(steps, step);
    if (place == steps.end() || *place != step) steps.insert(place, step);
  }

  std::optional<Origin> known(int slot) const {
    const auto found = known_.find(slot);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  // A DequantizeLinear whose input is not itself computed from another origin.
  std::optional<Origin> of_root(const Step& step) {
    const auto x = qdq_.activation(step.outputs[0]);
    if (!x || qdq_.edit.constant(x->value)) return std::nullopt;
    return Origin{x->value, qdq_.type_of(x->zero_point), 0, {}};
  }

  // A scalar constant. `step`: its DequantizeLinear, if it is quantized.
  struct Number {
    std::size_t rank;
    std::optional<std::size_t> step;
  };
  std::optional<Number> number(int slot) {
    const auto stored = qdq_.edit.producer(slot) < 0 ? std::nullopt : qdq_.from(slot);
    const Array* value = qdq_.edit.constant(stored ? stored->value : slot);
    if (!value || value->count() != 1 || value->rank() > 1 || (stored && !stored->per_tensor))
      return std::nullopt;
    return Number{value->rank(), stored ? std::optional(stored->step) : std::nullopt};
  }

  // Data inputs with one common root, and scalars. Before version 7, Add and similar operators broadcast only
  // if an attribute said so.
  std::optional<Origin> of_inputs(const Step& step) {
    const ops::Traits& traits = step.descriptor->traits;
    const bool several = traits.data != ops::Inputs{0};
    if (several && step.version < 7) return std::nullopt;
    std::optional<Origin> all;
    std::size_t rank = 0;
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const bool is_data = traits.is_data(static_cast<int>(i));
      auto origin = is_data ? known(step.inputs[i]) : std::nullopt;
      if (origin && all && origin->root != all->root) return std::nullopt;
      if (origin) {
        std::vector<std::size_t> both;
        std::ranges::set_union(origin->steps, steps, std::back_inserter(both));
        steps = std::move(both);
        rank = std::max(rank, origin->rank);
        all = std::move(origin);
        continue;
      }
      const auto one = number(step.inputs[i]);
      if (!one) return std::nullopt;
      // Inputs that are not data do not broadcast.
      if (is_data) rank = std::max(rank, one->rank);
      if (one->step) add_step(steps, *one->step);
    }
    if (!all) return std::nullopt;
    all->rank = rank;
    all->steps = std::move(steps);
    return all;
  }

  Qdq& qdq_;
  std::map<int, Origin> known_;
};

std::int64_t count_of(ElementType type) { return ops::is_byte(type) ? 256 : 65536; }

// All values of the type in the order of their bit patterns: 0, 1, … 255, and accordingly for 16 bits.
Result<Array> all_values_of(ops::Memory& memory, ElementType type) {
  const std::int64_t count = count_of(type);
  Array quantized = TRY(Array::make(memory, type, {count}));
  ops::for_code(type, [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i) quantized.mutable_data<T>()[i] = static_cast<T>(i);
  });
  return quantized;
}

Result<Array> table_of(Context& context, const Program& program, const Origin& origin, int result,
                       const Resources& resources) {
  const std::int64_t count = count_of(origin.type), steps = std::ssize(origin.steps);
  if (!resources.afford(2 * count, count * steps))
    return error_at(Code::limit_exceeded, {}, "a table would pass the limits of work before the model runs");
  const Array quantized = TRY(all_values_of(*resources.memory, origin.type));
  context.slot(origin.root) = quantized;
  for (const std::size_t index : origin.steps) TRY(context.run_step(index));
  const ops::Datum& made = context.slot(result);
  if (!made.is_array() || made.array.count() != quantized.count() ||
      ops::element_bytes(made.array.type()) != ops::element_bytes(origin.type)) {
    return ops::wrong(
        fmt::format("'{}' is not a table", program.slots[static_cast<std::size_t>(result)].name));
  }
  Array table = TRY(made.array.copy(*resources.memory));
  // Frees the intermediate results, 65,536 elements each.
  for (const std::size_t index : origin.steps) {
    for (const int slot : program.steps[index].outputs) context.slot(slot) = {};
  }
  return table;
}

struct Table {
  std::size_t step;
  Origin origin;
  Array entries;
};

// The operator by which a profile shows the table: the last one that is not about quantization.
std::string name_of(const Program& program, const Origin& origin) {
  for (auto i = origin.steps.rbegin(); i != origin.steps.rend(); ++i) {
    const Step& step = program.steps[*i];
    if (!quantizes(step) && !dequantizes(step)) return step.node->op_type.str();
  }
  return {};
}

Result<void> make_tables(Program& program, const Resources& resources, IntegerTypes accepted) {
  Qdq qdq(program, resources, accepted);
  Origins origins(qdq);
  std::vector<std::pair<std::size_t, Origin>> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Origin* origin = origins.add(i);
    // A table for DequantizeLinear and QuantizeLinear alone would not pay: they are removed when parameters
    // are equal.
    if (origin && quantizes(program.steps[i]) && qdq.from_quantizer(i) &&
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
        tables.push_back({step, origin, std::move(entries).value()});  // else the error shows at run time
    }
  }
  for (Table& table : tables) {
    graph::Node node = graph::as_operator(*program.steps[table.step].node, "LookUp", graph::kAnybit);
    node.attributes.clear();
    set_attribute(node, "of", name_of(program, table.origin));
    set_attribute(node, "rank", static_cast<std::int64_t>(table.origin.rank));
    const int held = qdq.edit.add_constant(std::move(table.entries));
    TRY(qdq.edit.replace(table.step, std::move(node), {table.origin.root, held}));
  }
  qdq.edit.done();
  return {};
}

Result<void> run(Program& program, const Resources& resources) {
  return make_tables(program, resources, IntegerTypes::bytes);
}
Result<void> run_wide(Program& program, const Resources& resources) {
  return make_tables(program, resources, IntegerTypes::wide);
}

}  // namespace

std::span<const Descriptor> fuse_qdq_table_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq-table",
       .order = 5,
       .summary = "elementwise operators between 8-bit integers become lookup tables",
       .run = run},
      {.name = "qdq-table-wide",
       .order = 5,
       .summary = "the same between integers of 16 bits",
       .run = run_wide,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
