// Elementwise of ai.anybit: several elementwise operators in one pass, block by block, so that the values
// between them stay in the cache. Fusion makes it (runtime/fuse_elementwise.cpp). The results have the same
// bits as those of the operators one by one, because the same kernels compute them.
#include <array>
#include <cstring>

#include "graph/node.hpp"
#include "kernels/elementwise/float16.hpp"
#include "ops/check.hpp"
#include "ops/elementwise/element_kernel.hpp"
#include "ops/evaluate.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::size_t kMostSteps = 16, kMostInputs = 24, kMostSpread = 8;
// Inputs, results, and results once more: those that are computed before the others count as inputs.
constexpr std::size_t kMostValues = kMostInputs + 2 * kMostSteps;
constexpr std::int64_t kBlock = 512;                    // elements
constexpr double kUnaryCost = 0.6, kBinaryCost = 0.15;  // nanoseconds per element
constexpr std::size_t kUnused = kMostSteps;

// One operator. A value is an input of the node (below `Chain::inputs`) or the result of an earlier step.
struct ChainStep {
  const graph::Node* node;
  const Descriptor* descriptor;
  std::int64_t version;
  ElementKernel kernel;
  std::vector<std::size_t> values;  // by input of the operator
  std::size_t buffer = kUnused;     // of its result; the last step's goes to the output

  std::size_t operands() const { return kernel.row ? 2 : 1; }
};

struct Chain : Prepared {
  std::size_t inputs = 0;
  std::vector<ChainStep> steps;
  double cost = 0;
  std::array<bool, kMostValues> used{};  // inputs that steps read as operands; others are parameters

  // Gives each result but the last a buffer, which is free again after its last use.
  void assign_buffers() {
    std::vector<std::size_t> last(inputs + steps.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (std::size_t k = 0; k < steps[i].operands(); ++k) last[steps[i].values[k]] = i;
    }
    std::vector<std::size_t> free_at;  // by buffer: the step that uses it last
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      std::size_t b = 0;
      while (b < free_at.size() && free_at[b] > i) ++b;
      if (b == free_at.size()) free_at.push_back(0);
      free_at[b] = last[inputs + i];
      steps[i].buffer = b;
    }
  }
  void find_used() {
    for (const ChainStep& step : steps) {
      for (std::size_t k = 0; k < step.operands(); ++k) used[step.values[k]] = true;
    }
  }
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const graph::Attribute* attribute = setup.find("steps");
  const auto* box = attribute ? std::get_if<graph::GraphBox>(&attribute->value) : nullptr;
  const auto bad = [] { return wrong("the attribute steps is not a graph of elementwise operators"); };
  if (!box || (*box)->nodes.empty() || (*box)->nodes.size() > kMostSteps) return bad();
  auto chain = std::make_shared<Chain>();
  chain->inputs = setup.node.inputs.size();
  if ((*box)->inputs.size() != chain->inputs || chain->inputs > kMostInputs) return bad();
  std::vector<std::string_view> names;
  for (const graph::ValueInfo& one : (*box)->inputs) names.push_back(one.name.str());
  for (const graph::Node& node : (*box)->nodes) {
    const Descriptor* descriptor = find(node.domain.str(), node.op_type.str());
    if (!descriptor || node.outputs.size() != 1) return bad();
    const std::int64_t version = TRY(checked_version(*descriptor, node, node.opset.value_or(1)));
    ChainStep step{&node, descriptor, version, {}, {}};
    std::vector<const Array*> constants;
    for (const std::string& name : node.inputs) {
      const auto found = std::ranges::find(names, name);
      if (!name.empty() && found == names.end()) return bad();
      const auto value = static_cast<std::size_t>(found - names.begin());
      step.values.push_back(value);
      constants.push_back(name.empty() ? nullptr : setup.constant(value));
    }
    const auto kernel = element_kernel(node, *descriptor, step.version, constants);
    if (!kernel || step.values.size() < (kernel->row ? 2u : 1u)) return bad();
    step.kernel = *kernel;
    chain->cost += kernel->row ? kBinaryCost : kUnaryCost;
    names.push_back(node.outputs[0]);
    chain->steps.push_back(std::move(step));
  }
  chain->assign_buffers();
  chain->find_used();
  return std::shared_ptr<const Prepared>(std::move(chain));
}

// A value in memory, seen from a block of the result.
struct Source {
  enum class How : std::uint8_t { none, flat, single, spread } how = How::none;
  const float* data = nullptr;
  const Loops* loops = nullptr;  // of `spread`, which broadcasts along some axes
};

// One pass over the result's elements.
struct Pass {
  const Chain& chain;
  std::size_t first, last;  // steps
  std::span<const Source> sources;
  float* out;

  void run(std::int64_t begin, std::int64_t end) const {
    alignas(64) float buffers[kMostSteps][kBlock];
    alignas(64) float spread[kMostSpread][kBlock];
    std::array<const float*, kMostValues> at;
    std::array<std::int64_t, kMostValues> step;
    for (std::int64_t e = begin; e < end; e += kBlock) {
      const std::int64_t n = std::min(kBlock, end - e);
      std::size_t copies = 0;
      for (std::size_t v = 0; v < sources.size(); ++v) {
        const Source& source = sources[v];
        step[v] = source.how == Source::How::single ? 0 : 1;
        if (source.how == Source::How::none) continue;
        at[v] = source.how == Source::How::flat ? source.data + e : source.data;
        if (source.how == Source::How::spread) at[v] = laid_out(source, e, n, spread[copies++], step[v]);
      }
      for (std::size_t i = first; i < last; ++i) {
        const ChainStep& one = chain.steps[i];
        float* to = i + 1 == last ? out + e : buffers[one.buffer];
        apply(one, at, step, to, n);
        at[chain.inputs + i] = to;
        step[chain.inputs + i] = 1;
      }
    }
  }

 private:
  // The block of an operand that broadcasts: where it lies, or copied.
  static const float* laid_out(const Source& source, std::int64_t e, std::int64_t n, float* to,
                               std::int64_t& step) {
    const std::int64_t along = source.loops->strides[0].back();
    const float* in_place = nullptr;
    for_rows(*source.loops, e, e + n, [&](const auto& offsets, std::int64_t first, std::int64_t count) {
      const float* from = source.data + offsets[0];
      if (count == n) {
        in_place = from;
      } else if (along) {
        std::memcpy(to + (first - e), from, static_cast<std::size_t>(count) * sizeof(float));
      } else {
        std::fill_n(to + (first - e), count, *from);
      }
    });
    if (!in_place) return to;
    step = along;
    return in_place;
  }

  template <class At, class Steps>
  static void apply(const ChainStep& step, const At& at, const Steps& steps, float* to, std::int64_t n) {
    const std::size_t x = step.values[0];
    if (!step.kernel.row) {
      const auto count = static_cast<std::size_t>(n);
      const float* from = at[x];
      if (steps[x] == 0) from = std::fill_n(to, n, *at[x]) - n;
      if (step.kernel.rounds) return kernels::through_float16(from, to, count);
      return kernels::map(step.kernel.map, from, to, count, step.kernel.a, step.kernel.b);
    }
    const std::size_t y = step.values[1];
    step.kernel.row(reinterpret_cast<const std::byte*>(at[x]), steps[x],
                    reinterpret_cast<const std::byte*>(at[y]), steps[y], reinterpret_cast<std::byte*>(to), n,
                    nullptr);
  }
};

// One run: the shapes of the steps' results, and where the operands lie.
class ChainRun {
 public:
  ChainRun(Frame& frame, const Chain& chain)
      : frame_(frame), chain_(chain), count_(chain.inputs + chain.steps.size()) {}

  Result<void> run() {
    if (!all_floats()) return one_by_one();
    TRY(find_dims());
    if (any_laid() && !TRY(in_one_layout())) {
      for (std::size_t i = 0; i < chain_.inputs; ++i) TRY(frame_.make_plain(i));
      TRY(find_dims());
    }
    return compute();
  }

 private:
  struct Value {
    const Array* array = nullptr;  // an input, or a result that was computed before the others
    const Dims* dims = nullptr;
    std::int64_t count = 0;
  };

  bool all_floats() const {
    for (std::size_t i = 0; i < chain_.inputs; ++i) {
      if (chain_.used[i] && (!frame_.datum(i).is_array() || frame_.in(i).type() != ElementType::float32))
        return false;
    }
    return true;
  }

  Result<void> find_dims() {
    for (std::size_t i = 0; i < chain_.inputs; ++i) {
      if (chain_.used[i]) values_[i] = {&frame_.in(i), &frame_.in(i).dims(), frame_.in(i).count()};
    }
    for (std::size_t i = 0; i < chain_.steps.size(); ++i) {
      const ChainStep& step = chain_.steps[i];
      const Value& x = values_[step.values[0]];
      const Value& y = step.kernel.row ? values_[step.values[1]] : x;
      values_[chain_.inputs + i] = TRY(broadcast_to(x, y, i));
    }
    return {};
  }

  Result<Value> broadcast_to(const Value& x, const Value& y, std::size_t step) {
    if (x.dims == y.dims || (y.count == 1 && y.dims->size() <= x.dims->size()) || *x.dims == *y.dims)
      return Value{nullptr, x.dims, x.count};
    if (x.count == 1 && x.dims->size() <= y.dims->size()) return Value{nullptr, y.dims, y.count};
    auto both = broadcast_dims(*x.dims, *y.dims);
    if (!both.ok()) return std::move(both).error().within(graph::place_of(*chain_.steps[step].node, 0));
    TRY(array_bytes(ElementType::float32, *both, Layout::plain));
    made_[step] = *both;
    const Dims* dims = *both == *x.dims ? x.dims : *both == *y.dims ? y.dims : &made_[step];
    return Value{nullptr, dims, both->count()};
  }

  const Value& result() const { return values_[count_ - 1]; }
  bool is_full(const Value& value) const {
    return value.dims == result().dims || *value.dims == *result().dims;
  }
  bool any_laid() const {
    return std::any_of(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(chain_.inputs),
                       [](const Value& one) { return one.array && one.array->layout() != Layout::plain; });
  }

  // Whether all operands can be read beside a result in the layout that some of them have.
  Result<bool> in_one_layout() {
    const Array* lead = nullptr;
    for (std::size_t v = 0; v < count_; ++v) {
      const Value& one = values_[v];
      if (v >= chain_.inputs && !is_full(one)) return false;
      if (one.array && one.array->layout() != Layout::plain && is_full(one)) lead = one.array;
    }
    if (!lead) return false;
    for (std::size_t i = 0; i < chain_.inputs; ++i) {
      const Value& one = values_[i];
      if (!one.array || (one.array->layout() == lead->layout() && is_full(one))) continue;
      laid_[i] = TRY(laid_operand(frame_, *one.array, *result().dims, lead->layout()));
      if (laid_[i]) continue;
      laid_ = {};
      return false;
    }
    layout_ = lead->layout();
    return true;
  }

  Result<Source> source_of(std::size_t v, const Array& to, const Dims& lying) {
    const Value& one = values_[v];
    if (!one.array) return Source{};
    const float* data = one.array->data<float>();
    const Dims* own = one.dims;
    if (v < chain_.inputs && laid_[v]) {
      data = reinterpret_cast<const float*>(laid_[v]->data);
      own = &laid_[v]->dims;
    } else if (*one.dims == to.dims()) {
      return Source{Source::How::flat, data};
    }
    if (one.count == 1) return Source{Source::How::single, data};
    Loops loops = loops_over(lying, {own});
    if (loops.dims.size() == 1 && loops.strides[0].back() == 1) return Source{Source::How::flat, data};
    if (spread_ == kMostSpread) return wrong("too many operands broadcast");
    loops_[spread_] = loops;
    return Source{Source::How::spread, data, &loops_[spread_++]};
  }

  // Steps whose results are smaller than the full result come first, each into memory of its own.
  Result<void> compute() {
    for (std::size_t i = 0; i + 1 < chain_.steps.size(); ++i) {
      Value& value = values_[chain_.inputs + i];
      if (is_full(value)) continue;
      if (small_.empty()) small_.reserve(kMostSteps);  // values point to them
      small_.push_back(TRY(scratch_array(frame_, ElementType::float32, *value.dims, Layout::plain)));
      TRY(pass(chain_, i, i + 1, small_.back()));
      value.array = &small_.back();
    }
    Array* out = TRY(output());
    if (small_.empty()) {
      TRY(pass(chain_, 0, chain_.steps.size(), *out));
    } else {
      const Chain others = without_small();
      TRY(pass(others, 0, others.steps.size(), *out));
    }
    clear_padding(*out);
    return {};
  }

  // In place of an operand of the same shape, if nothing else needs it.
  Result<Array*> output() {
    for (std::size_t i = 0; i < chain_.inputs; ++i) {
      const Value& one = values_[i];
      if (one.array && !frame_.is_constant(i) && is_full(one) && one.array->layout() == layout_)
        return frame_.out_over(0, i, ElementType::float32, *one.dims);
    }
    return frame_.out(0, ElementType::float32, *result().dims, layout_);
  }

  // The steps with full results: all values so far are inputs of theirs.
  Chain without_small() const {
    Chain others;
    others.inputs = count_;
    others.cost = chain_.cost;
    std::array<std::size_t, kMostValues> numbers{};
    for (std::size_t v = 0; v < count_; ++v) numbers[v] = v;
    for (std::size_t i = 0; i < chain_.steps.size(); ++i) {
      const std::size_t v = chain_.inputs + i;
      if (values_[v].array) continue;
      ChainStep step = chain_.steps[i];
      for (std::size_t& one : step.values) one = numbers[one];
      numbers[v] = others.inputs + others.steps.size();
      others.steps.push_back(std::move(step));
    }
    return others;
  }

  Result<void> pass(const Chain& chain, std::size_t first, std::size_t last, Array& to) {
    const Dims lying = laid_dims(to.dims(), to.layout());
    std::array<Source, kMostValues> sources{};
    spread_ = 0;
    for (std::size_t i = first; i < last; ++i) {
      const ChainStep& step = chain.steps[i];
      for (std::size_t k = 0; k < step.operands(); ++k) {
        const std::size_t v = step.values[k];
        if (v < count_ && sources[v].how == Source::How::none) sources[v] = TRY(source_of(v, to, lying));
      }
    }
    const Pass pass{chain, first, last, std::span(sources).first(count_), to.mutable_data<float>()};
    parallel(frame_, to.stored(), chain.cost,
             [&pass](std::int64_t begin, std::int64_t end) { pass.run(begin, end); });
    return {};
  }

  // Other types than float32: the operators as they are.
  Result<void> one_by_one() {
    const std::shared_ptr<Memory> memory(std::shared_ptr<Memory>(), &frame_.memory());
    const Resources resources{memory, frame_.pool()};
    std::vector<Datum> results(chain_.steps.size());
    for (std::size_t i = 0; i < chain_.steps.size(); ++i) {
      const ChainStep& step = chain_.steps[i];
      std::vector<const Datum*> inputs;
      for (const std::size_t v : step.values) {
        const bool left_out = step.node->inputs[inputs.size()].empty();
        inputs.push_back(left_out            ? nullptr
                         : v < chain_.inputs ? &frame_.datum(v)
                                             : &results[v - chain_.inputs]);
      }
      auto made = evaluate({*step.node, *step.descriptor, step.version, inputs}, resources, {});
      if (!made) {
        std::string given;
        for (const Datum* one : inputs) given += one ? " " + to_string(*one) : "";
        return wrong(fmt::format("{} cannot take{}", step.node->op_type.str(), given))
            .within(graph::place_of(*step.node, 0));
      }
      results[i] = std::move(made->front());
    }
    return frame_.set(0, std::move(results.back()));
  }

  Frame& frame_;
  const Chain& chain_;
  std::size_t count_;
  Layout layout_ = Layout::plain;
  std::array<Value, kMostInputs + kMostSteps> values_{};
  std::array<std::optional<LaidOperand>, kMostInputs> laid_;
  std::array<Dims, kMostSteps> made_;
  std::array<Loops, kMostSpread> loops_;
  std::size_t spread_ = 0;
  std::vector<Array> small_;
};

Result<void> run(Frame& frame) {
  const auto* chain = frame.prepared<Chain>();
  if (!chain || only_checks(frame)) return not_known();
  return ChainRun(frame, *chain).run();
}

Result<Values> infer(const Call& call) { return outputs_of(call, Value()); }

}  // namespace

std::span<const Descriptor> elementwise_chain_descriptors() {
  static const Descriptor all[] = {{.name = "Elementwise",
                                    .domain = graph::kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .prepare = prepare,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
