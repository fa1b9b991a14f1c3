// CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: state that a run leaves to the next one.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/constants.hpp"
#include "tflite/subgraph.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

// Variables are those of the main graph: a branch or a loop's body has no inputs and outputs of its own.
Result<void> check_place(OperatorReader& here) {
  if (here.graph().variables().available) return {};
  return here.unsupported("variables inside of IF and WHILE are not supported");
}

Result<Variable*> variable(OperatorReader& here) {
  TRY(check_place(here));
  Variables& all = here.graph().variables();
  const auto name = all.by_tensor.find(here.input(0));
  if (name == all.by_tensor.end()) return here.invalid("its first input is no variable");
  return &all.by_name[name->second];
}

// The subgraph gives variables their first values.
Result<void> read_call_once(OperatorReader& here) {
  if (here.graph().depth() > 0) return here.unsupported("it is inside of another subgraph");
  GraphReader first(here.graph().file(), here.graph().names(),
                    here.options<wire::CallOnceOptions>().init_subgraph_index(), 1);
  first.variables().available = true;
  TRY(first.open());
  TRY(read_operators(first));
  for (auto& [name, variable] : first.variables().by_name) {
    if (!variable.tensor) continue;
    const TensorInfo& value = first.info(*variable.tensor);
    if (!value.constant)
      return here.unsupported(fmt::format("the first value of '{}' is not a constant", name));
    here.graph().variables().by_name[name].first = value;
  }
  return {};
}

Result<void> read_var_handle(OperatorReader& here) {
  TRY(check_place(here));
  const auto* name = here.options<wire::VarHandleOptions>().shared_name();
  if (!name) return here.invalid("the variable has no name");
  TRY(here.graph().file().take_bytes(name->size()));
  here.graph().variables().by_tensor[here.output()] = name->str();
  return {};
}

// A new input of the graph, with the first value as its default.
Result<std::string> make_input(OperatorReader& here, const Variable& made) {
  GraphReader& graph = here.graph();
  graph::ValueInfo input;
  input.name = graph::Text(graph.unique_name(here.input(0)));  // a handle has no value of that name
  input.type = graph.type_of(here.output());
  if (made.first) {
    if (made.first->type != here.out().type || made.first->dims != here.out().dims)
      return here.invalid("its first value has another type or shape");
    graph::Tensor value;
    value.name = input.name;
    value.element = static_cast<std::int32_t>(made.first->type);
    value.dims = made.first->dims;
    value.data = TRY(dense_data(graph.file(), *made.first));
    graph.graph().initializers.push_back(std::move(value));
  }
  graph.graph().inputs.push_back(input);
  return input.name.str();
}

Result<void> read_read_variable(OperatorReader& here) {
  Variable& read = *TRY(variable(here));
  if (read.value.empty()) read.value = read.input = TRY(make_input(here, read));
  return here.graph().define_stored(here.output(), read.value);
}

Result<void> read_assign_variable(OperatorReader& here) {
  Variable& assigned = *TRY(variable(here));
  assigned.value = TRY(here.graph().stored(here.input(1)));
  assigned.tensor = here.input(1);
  return {};
}

}  // namespace

std::span<const Descriptor> variable_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "CALL_ONCE",
       .code = BuiltinOperator::CALL_ONCE,
       .inputs = 0,
       .outputs = 0,
       .read = read_call_once},
      {.name = "VAR_HANDLE", .code = BuiltinOperator::VAR_HANDLE, .inputs = 0, .read = read_var_handle},
      {.name = "READ_VARIABLE",
       .code = BuiltinOperator::READ_VARIABLE,
       .inputs = 1,
       .read = read_read_variable},
      {.name = "ASSIGN_VARIABLE",
       .code = BuiltinOperator::ASSIGN_VARIABLE,
       .inputs = 2,
       .outputs = 0,
       .read = read_assign_variable},
  };
  return all;
}

}  // namespace anybit::tflite
