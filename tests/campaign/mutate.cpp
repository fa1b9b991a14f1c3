#include "mutate.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "graph/index.hpp"

namespace anybit::campaign {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

std::size_t below(Random& random, std::size_t count) { return count == 0 ? 0 : random() % count; }

template <class T>
T& one_of(Random& random, std::vector<T>& list) {
  return list[below(random, list.size())];
}

std::int64_t odd_number(Random& random, std::int64_t before) {
  const auto wrapped = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  const auto number = static_cast<std::uint64_t>(before);
  const std::int64_t choices[] = {wrapped(number + 1),
                                  wrapped(number - 1),
                                  0,
                                  1,
                                  -1,
                                  2,
                                  wrapped(number * 2),
                                  wrapped(0 - number),
                                  7,
                                  65537,
                                  std::int64_t{1} << 31,
                                  std::int64_t{1} << 40,
                                  std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min()};
  // Mostly values near the original: they pass more checks.
  return choices[random() % 3 != 0 ? below(random, 8) : below(random, std::size(choices))];
}

float odd_real(Random& random, float before) {
  const float choices[] = {0.0f,    -0.0f,         1.0f,      -1.0f,      before * 2,
                           -before, std::nanf(""), HUGE_VALF, -HUGE_VALF, 1e-45f,
                           1e30f,   1e-30f,        0.5f,      before + 1, 1e9f};
  return choices[below(random, std::size(choices))];
}

constexpr std::int32_t kTypes[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 19, 21, 22, 8, 23};

std::vector<Graph*> graphs_of(graph::Model& model) {
  std::vector<Graph*> found;
  const auto visit = [&](auto& self, Graph& graph) -> void {
    found.push_back(&graph);
    for (Node& node : graph.nodes) graph::each_graph(node, [&](Graph& inner) { self(self, inner); });
  };
  if (model.graph) visit(visit, *model.graph);
  return found;
}

std::vector<Tensor*> tensors_of(Graph& graph) {
  std::vector<Tensor*> found;
  for (Tensor& one : graph.initializers) found.push_back(&one);
  for (Node& node : graph.nodes) {
    for (graph::Attribute& one : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&one.value)) found.push_back(tensor);
    }
  }
  return found;
}

// Truncates or repeats the bytes so that they fit the dims.
void fit(Tensor& tensor) {
  const graph::ElementTypeInfo* type = graph::find(tensor.type());
  std::int64_t count = 1;
  for (const std::int64_t one : tensor.dims) {
    if (one < 0 || one > 4096 || (count *= one) > 65536) return;
  }
  if (!type || tensor.type() == graph::ElementType::string) return;
  const auto wanted = static_cast<std::size_t>((count * type->bits + 7) / 8);
  const std::string_view before = tensor.data.text();
  std::string bytes(wanted, '\1');
  for (std::size_t i = 0; i < wanted && !before.empty(); ++i) bytes[i] = before[i % before.size()];
  tensor.data = Bytes::own(std::move(bytes));
  tensor.storage = graph::Storage::raw;
}

void change_sizes(Graph& graph, Random& random) {
  auto tensors = tensors_of(graph);
  if (tensors.empty()) return;
  Tensor& tensor = *one_of(random, tensors);
  switch (random() % 4) {
    case 0:
      tensor.dims.insert(tensor.dims.begin(), 1);
      break;
    case 1:
      if (!tensor.dims.empty()) tensor.dims.pop_back();
      break;
    default:
      if (!tensor.dims.empty()) {
        std::int64_t& dim = one_of(random, tensor.dims);
        dim = odd_number(random, dim);
      }
  }
  if (random() % 8 != 0) fit(tensor);
}

void change_numbers(Graph& graph, Random& random) {
  auto tensors = tensors_of(graph);
  if (tensors.empty()) return;
  Tensor& tensor = *one_of(random, tensors);
  std::string bytes(tensor.data.text());
  const auto write = [&]<class T>(auto odd, T) {
    const std::size_t count = bytes.size() / sizeof(T);
    for (std::size_t times = 1 + random() % 3; count > 0 && times-- > 0;) {
      T value;
      char* place = bytes.data() + below(random, count) * sizeof(T);
      std::memcpy(&value, place, sizeof value);
      value = static_cast<T>(odd(random, value));
      std::memcpy(place, &value, sizeof value);
    }
  };
  if (tensor.type() == graph::ElementType::float32) {
    write(odd_real, float());
  } else if (tensor.type() == graph::ElementType::int64) {
    write(odd_number, std::int64_t());
  } else if (!bytes.empty()) {
    bytes[below(random, bytes.size())] = static_cast<char>(random());
  }
  if (!bytes.empty()) tensor.data = Bytes::own(std::move(bytes));
}

void change_type(Graph& graph, Random& random) {
  const std::int32_t type = kTypes[below(random, std::size(kTypes))];
  auto tensors = tensors_of(graph);
  if (random() % 2 == 0 && !tensors.empty()) {
    Tensor& tensor = *one_of(random, tensors);
    tensor.element = type;
    return fit(tensor);
  }
  auto& list = random() % 2 == 0 && !graph.inputs.empty() ? graph.inputs : graph.outputs;
  if (list.empty()) return;
  graph::ValueInfo& info = one_of(random, list);
  if (auto* tensor = info.type ? std::get_if<graph::TensorType>(&info.type->kind) : nullptr)
    tensor->element = type;
}

void change_declared_sizes(Graph& graph, Random& random) {
  auto& list = random() % 3 != 0 && !graph.inputs.empty() ? graph.inputs : graph.outputs;
  if (list.empty()) return;
  graph::ValueInfo& info = one_of(random, list);
  auto* tensor = info.type ? std::get_if<graph::TensorType>(&info.type->kind) : nullptr;
  if (!tensor || !tensor->shape) return;
  auto& dims = tensor->shape->dims;
  if (random() % 4 == 0) {
    dims.emplace_back().value = std::int64_t{2};
  } else if (!dims.empty()) {
    graph::Dimension& dim = one_of(random, dims);
    if (random() % 3 == 0)
      dim.value = std::string("n");
    else
      dim.value = odd_number(random, dim.known() ? dim.size() : 1);
  }
}

void change_attribute(Graph& graph, Random& random) {
  if (graph.nodes.empty()) return;
  Node& node = one_of(random, graph.nodes);
  if (node.attributes.empty()) return;
  graph::Attribute& one = one_of(random, node.attributes);
  if (random() % 10 == 0) {
    std::swap(one, node.attributes.back());
    node.attributes.pop_back();
  } else if (auto* whole = std::get_if<std::int64_t>(&one.value)) {
    *whole = odd_number(random, *whole);
  } else if (auto* real = std::get_if<float>(&one.value)) {
    *real = odd_real(random, *real);
  } else if (auto* list = std::get_if<std::vector<std::int64_t>>(&one.value)) {
    if (random() % 4 == 0) {
      list->push_back(odd_number(random, 1));
    } else if (random() % 4 == 0 && !list->empty()) {
      list->pop_back();
    } else if (!list->empty()) {
      std::int64_t& number = one_of(random, *list);
      number = odd_number(random, number);
    }
  } else if (auto* text = std::get_if<std::string>(&one.value)) {
    static const char* const kWords[] = {"",           "linear",        "cubic",  "nearest", "SAME_UPPER",
                                         "SAME_LOWER", "VALID",         "NOTSET", "reflect", "edge",
                                         "wrap",       "bidirectional", "ij->ji", "ij,jk",   "asymmetric",
                                         "reverse",    "DCR",           "max"};
    *text = kWords[below(random, std::size(kWords))];
  }
}

void change_opset(graph::Model& model, Random& random) {
  if (!model.opsets.empty())
    one_of(random, model.opsets).version = 7 + static_cast<std::int64_t>(random() % 18);
}

std::vector<std::string> values_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const graph::ValueInfo& one : graph.inputs) names.push_back(one.name.str());
  for (const Tensor& one : graph.initializers) names.push_back(one.name.str());
  for (const Node& node : graph.nodes) names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  return names;
}

void rewire(Graph& graph, Random& random) {
  auto names = values_of(graph);
  if (graph.nodes.empty() || names.empty()) return;
  Node& node = one_of(random, graph.nodes);
  if (random() % 5 == 0) {
    node.inputs.push_back(one_of(random, names));
  } else if (!node.inputs.empty()) {
    one_of(random, node.inputs) = random() % 5 == 0 ? std::string() : one_of(random, names);
  }
}

// Inserts a node after a value: the value's consumers use the node instead.
void insert(Graph& graph, Random& random) {
  static const char* const kKinds[] = {"Relu", "Neg",     "Sigmoid", "Transpose", "Identity", "Cast",
                                       "Tanh", "Flatten", "Shape",   "Squeeze",   "Clip",     "Softmax"};
  if (graph.nodes.empty()) return;
  const std::size_t at = below(random, graph.nodes.size());
  if (graph.nodes[at].inputs.empty()) return;
  std::string& used = one_of(random, graph.nodes[at].inputs);
  if (used.empty()) return;
  Node made;
  made.op_type = graph::Text(kKinds[below(random, std::size(kKinds))]);
  made.inputs = {used};
  made.outputs = {used + "_new" + std::to_string(random() % 1000)};
  used = made.outputs[0];
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(made));
}

void change_operator(Graph& graph, Random& random) {
  static const char* const kKinds[] = {
      "Add", "Mul",  "MatMul", "Conv",    "Concat",           "Relu",
      "Sum", "Gemm", "Expand", "Gather",  "DequantizeLinear", "QuantizeLinear",
      "Div", "Pow",  "Where",  "Reshape", "ReduceMean",       "BatchNormalization"};
  if (!graph.nodes.empty())
    one_of(random, graph.nodes).op_type = graph::Text(kKinds[below(random, std::size(kKinds))]);
}

// Moves the node into both branches of an If, whose condition may be constant.
void put_inside(Graph& graph, Random& random) {
  if (graph.nodes.empty()) return;
  Node& node = one_of(random, graph.nodes);
  Graph branch;
  branch.name = graph::Text("branch");
  branch.nodes.push_back(node);
  for (std::string& name : branch.nodes[0].outputs) {
    if (name.empty()) return;
    name += "_in";
    branch.outputs.emplace_back().name = graph::Text(name);
  }
  Tensor condition;
  condition.name = graph::Text("condition" + std::to_string(random() % 1000));
  condition.element = static_cast<std::int32_t>(graph::ElementType::boolean);
  condition.data = Bytes::own(std::string(1, static_cast<char>(random() % 2)));
  Node choice;
  choice.op_type = graph::Text("If");
  choice.inputs = {condition.name.str()};
  choice.outputs = node.outputs;
  for (const char* which : {"then_branch", "else_branch"}) {
    graph::Attribute& one = choice.attributes.emplace_back();
    one.name = graph::Text(which);
    one.kind = static_cast<std::int32_t>(graph::AttributeKind::graph);
    one.value = graph::GraphBox(branch);
  }
  graph.initializers.push_back(std::move(condition));
  node = std::move(choice);
}

void remove(Graph& graph, Random& random) {
  if (graph.nodes.size() < 2) return;
  const auto at = static_cast<std::ptrdiff_t>(below(random, graph.nodes.size()));
  graph.nodes.erase(graph.nodes.begin() + at);
}

}  // namespace

void mutate(graph::Model& model, Random& random) {
  for (std::size_t times = 1 + random() % 3; times-- > 0;) {
    auto graphs = graphs_of(model);
    if (graphs.empty()) return;
    Graph& graph = *one_of(random, graphs);
    switch (random() % 16) {
      case 0:
      case 1:
        change_sizes(graph, random);
        break;
      case 2:
      case 3:
        change_numbers(graph, random);
        break;
      case 4:
        change_type(graph, random);
        break;
      case 5:
      case 6:
        change_declared_sizes(graph, random);
        break;
      case 7:
      case 8:
      case 9:
        change_attribute(graph, random);
        break;
      case 10:
        change_opset(model, random);
        break;
      case 11:
        rewire(graph, random);
        break;
      case 12:
        insert(graph, random);
        break;
      case 13:
        change_operator(graph, random);
        break;
      case 14:
        put_inside(graph, random);
        break;
      default:
        remove(graph, random);
    }
  }
}

}  // namespace anybit::campaign
