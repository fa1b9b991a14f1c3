// If: one of two subgraphs, selected by a condition. ONNX: If-1 … -25.
#include "ops/check.hpp"
#include "ops/control/control.hpp"

namespace anybit::ops {
namespace {

bool fails(const Body& body) { return body.last_problem > body.first_problem; }

// Without known elements: a consumer that used them would bypass the choice of the branch.
Values shapes_of(const Values& outputs, std::size_t count) {
  Values values;
  for (const Value& one : outputs) values.push_back(tensor(one.type, one.shape));
  return fitted(std::move(values), count);
}

// Only the costlier branch is counted, and none that a known condition rules out.
Result<Values> infer_if(const Call& call) {
  const graph::Graph* then_graph = call.graph("then_branch");
  const graph::Graph* else_graph = call.graph("else_branch");
  if (!then_graph || !else_graph) return wrong("If needs the graphs then_branch and else_branch");
  const auto& condition = call.in(0).elements;
  const Dim taken = condition && condition->size() == 1 ? (*condition)[0] : Dim();
  const Body yes = TRY(call.enter(*then_graph, {}, "then_branch"));
  const Body no = TRY(call.enter(*else_graph, {}, "else_branch"));
  for (std::size_t i = 0; i < std::min(yes.outputs.size(), no.outputs.size()); ++i) {
    if (types_agree(yes.outputs[i], no.outputs[i])) continue;
    call.contradict(fmt::format("output {} is {} by then_branch, and {} by else_branch", i,
                                to_string(yes.outputs[i]), to_string(no.outputs[i])));
  }
  const bool first = taken.known() ? !taken.is(0) : call.work(yes) >= call.work(no);
  const Body& other = first ? no : yes;
  call.repeat(other, 0);
  if (taken.known()) {
    call.rule_out(other);
    return fitted(first ? yes.outputs : no.outputs, call.output_count());
  }
  // A failing branch ends the run, so the outputs are those of the other branch.
  const bool yes_fails = fails(yes), no_fails = fails(no);
  if (yes_fails != no_fails) return shapes_of(yes_fails ? no.outputs : yes.outputs, call.output_count());
  Values values = fitted({}, call.output_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < yes.outputs.size() && i < no.outputs.size()) values[i] = either(yes.outputs[i], no.outputs[i]);
  }
  return values;
}

Result<void> run(Frame& frame) {
  const Array& condition = frame.in(0);
  if (condition.type() != ElementType::boolean || condition.count() != 1) {
    return wrong(fmt::format("the condition is {}", to_string(frame.datum(0))), "a single boolean");
  }
  if (!frame.graph("then_branch") || !frame.graph("else_branch"))
    return wrong("If needs the graphs then_branch and else_branch");
  if (!has_elements(condition)) return {};
  const std::string_view branch = *condition.data<bool>() ? "then_branch" : "else_branch";
  TRY(body_of(frame, branch, 0, frame.output_count()));
  const auto outputs = TRY(frame.call(branch, {}));
  for (std::size_t i = 0; i < frame.output_count(); ++i) TRY(frame.set(i, outputs[i]));
  return {};
}

}  // namespace

std::span<const Descriptor> if_descriptors() {
  static const Descriptor all[] = {{.name = "If",
                                    .domain = "",
                                    .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
                                    .infer = infer_if,
                                    .run = run}};
  return all;
}

}  // namespace anybit::ops
