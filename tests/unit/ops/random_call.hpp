// Random nodes: any number of inputs of any type and shape, attributes of any kind. They change in small
// steps, so that calls rejected late lead to calls that are accepted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "given.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::ops::testing {

struct RandomCall {
  std::vector<Given> inputs;
  std::vector<bool> wanted;  // by output
  std::map<std::string, graph::Attribute::Value> attributes;
  int hidden = 0;  // of what the model says of its inputs: nothing, some sizes, shapes, types
};

// A graph that passes its inputs through, or outputs constants if it has none.
inline graph::Graph handing_on(std::size_t inputs, std::vector<graph::Tensor> constants,
                               std::size_t outputs) {
  graph::Graph result;
  for (std::size_t i = 0; i < inputs; ++i) {
    result.inputs.emplace_back();
    result.inputs.back().name = graph::Text("body_in" + std::to_string(i));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    const std::string name = "body_out" + std::to_string(i);
    if (inputs > 0) {
      result.nodes.push_back(node("Identity", {"body_in" + std::to_string(i % inputs)}, {name}));
    } else {
      result.nodes.push_back(node("Constant", {}, {name}, {attribute("value", constants[i])}));
    }
    result.outputs.emplace_back();
    result.outputs.back().name = graph::Text(name);
  }
  return result;
}

// Makes calls of one operator. `asked` are the attributes that the operator was seen to read, `kinds` their
// kinds in ONNX.
class Maker {
 public:
  Maker(const Descriptor& op, std::map<std::string, std::string> kinds, std::set<std::string>& asked)
      : op_(op), kinds_(std::move(kinds)), asked_(asked) {}

  RandomCall make(Chance& chance) const {
    RandomCall call;
    const ElementType type = any_type(chance);
    const std::size_t rank = chance.below(6);
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(size(chance));
    for (std::size_t i = 0, count = op_.required + chance.below(3); i < count; ++i) {
      Given one = given(chance);
      if (!chance.one_in(3)) one.type = type;
      if (!chance.one_in(3)) one.dims = dims;
      shrink(one);
      call.inputs.push_back(std::move(one));
    }
    call.wanted.assign(1 + (chance.one_in(3) ? chance.below(4) : 0), true);
    for (const auto& [name, kind] : kinds_) {
      if (chance.one_in(2)) set(call, name, chance);
    }
    return call;
  }

  RandomCall changed(RandomCall call, Chance& chance) const {
    for (std::size_t times = 1 + chance.below(3); times > 0; --times) change(call, chance);
    for (Given& one : call.inputs) shrink(one);
    return call;
  }

 private:
  static std::int64_t size(Chance& chance) {
    static constexpr std::int64_t kSizes[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 8, 12, 16, 32};
    return chance.of(kSizes);
  }

  static ElementType any_type(Chance& chance) {
    static constexpr ElementType kOften[] = {ElementType::float32, ElementType::float32, ElementType::float16,
                                             ElementType::float64, ElementType::int64,   ElementType::int32,
                                             ElementType::uint8,   ElementType::int8,    ElementType::boolean,
                                             ElementType::string,  ElementType::bfloat16};
    return chance.one_in(4) ? chance.of(graph::element_types()).type : chance.of(kOften);
  }

  Given given(Chance& chance) const {
    static constexpr Contents kContents[] = {Contents::quarters, Contents::quarters, Contents::indices,
                                             Contents::indices,  Contents::small,    Contents::extremes,
                                             Contents::bytes,    Contents::ones,     Contents::zeros};
    Given one;
    one.type = any_type(chance);
    const std::size_t rank = chance.one_in(40) ? chance.below(33) : chance.below(6);
    for (std::size_t i = 0; i < rank; ++i) one.dims.push_back(rank > 6 ? 1 : size(chance));
    one.constant = chance.one_in(3);
    one.contents = chance.of(kContents);
    one.seed = chance.next();
    one.absent = chance.one_in(12);
    if (chance.one_in(12)) one.kind = chance.one_in(3) ? Datum::Kind::nothing : Datum::Kind::sequence;
    return one;
  }

  // Shrinks shapes that no model can have or that would take long.
  void shrink(Given& one) const {
    std::int64_t count = 1;
    for (std::int64_t& dim : one.dims) {
      if (count * dim > 4096) dim = 1;
      count *= std::max<std::int64_t>(dim, 1);
    }
    if (one.kind != Datum::Kind::array) one.constant = false;
    const bool may = op_.layouts == Layouts::each && one.dims.size() >= 3 && one.dims.size() <= 5 &&
                     !one.constant && one.kind == Datum::Kind::array && one.type != ElementType::string;
    if (!may) one.layout = Layout::plain;
  }

  void change(RandomCall& call, Chance& chance) const {
    switch (chance.below(8)) {
      case 0:
      case 1:
      case 2:
        if (!call.inputs.empty()) return change(call, call.inputs[chance.below(call.inputs.size())], chance);
        [[fallthrough]];
      case 3:
        return change_count(call, chance);
      case 4:
        if (chance.one_in(2)) call.wanted.push_back(!chance.one_in(6));
        if (!call.wanted.empty() && chance.one_in(3)) call.wanted.pop_back();
        if (call.wanted.empty() && !chance.one_in(4)) call.wanted.push_back(true);
        call.hidden = chance.one_in(2) ? 0 : static_cast<int>(chance.below(4));
        return;
      default:
        return change_attributes(call, chance);
    }
  }

  void change_count(RandomCall& call, Chance& chance) const {
    if (chance.one_in(3) && !call.inputs.empty()) {
      call.inputs.pop_back();
    } else if (chance.one_in(2)) {
      const ElementType type = any_type(chance);
      for (Given& one : call.inputs) one.type = type;
    } else if (call.inputs.size() < 14) {
      Given one = given(chance);
      if (!call.inputs.empty() && !chance.one_in(3)) {
        one.type = chance.of(call.inputs).type;
        one.dims = chance.of(call.inputs).dims;
      }
      call.inputs.push_back(std::move(one));
    }
  }

  // The size of another input, or a combination of two of them.
  static std::int64_t related(const RandomCall& call, Chance& chance) {
    std::vector<std::int64_t> sizes{1, 2, 4};
    for (const Given& one : call.inputs) sizes.insert(sizes.end(), one.dims.begin(), one.dims.end());
    for (const auto& [name, value] : call.attributes) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) sizes.push_back(*number);
    }
    const std::int64_t a = chance.of(sizes), b = chance.of(sizes);
    const std::int64_t kinds[] = {a, a, a, b != 0 ? a / std::max<std::int64_t>(b, 1) : 0, a % 65 * (b % 65)};
    const std::int64_t found = chance.of(kinds);
    return found >= 0 && found <= 256 ? found : 1;
  }

  void change(RandomCall& call, Given& one, Chance& chance) const {
    static constexpr Layout kLayouts[] = {Layout::plain, Layout::channels_last, Layout::blocked8};
    std::vector<std::int64_t>& dims = one.dims;
    switch (chance.below(13)) {
      case 0:
        one = given(chance);
        break;
      case 1:
        one.type = chance.of(call.inputs).type;
        break;
      case 2:
        one.type = any_type(chance);
        break;
      case 3:
        dims = std::vector(chance.of(call.inputs).dims);
        break;
      case 4:
        if (dims.size() < 8)
          dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(chance.below(dims.size() + 1)),
                      related(call, chance));
        break;
      case 5:
        if (!dims.empty()) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(chance.below(dims.size())));
        break;
      case 6:
        one.constant = !one.constant;
        break;
      case 7:
        one.contents = given(chance).contents;
        one.seed = chance.next();
        break;
      case 8:
        one.absent = !one.absent;
        break;
      case 9:
        one.layout = chance.of(kLayouts);
        break;
      default:
        if (!dims.empty())
          dims[chance.below(dims.size())] = chance.one_in(3) ? size(chance) : related(call, chance);
    }
  }

  void change_attributes(RandomCall& call, Chance& chance) const {
    if (!call.attributes.empty() && chance.one_in(4)) {
      call.attributes.erase(chance.of(call.attributes).first);
    } else if (!call.attributes.empty() && chance.one_in(2)) {
      const std::string name = chance.of(call.attributes).first;
      nudge(call, call.attributes[name], chance);
    } else if (!asked_.empty() && (kinds_.empty() || chance.one_in(4))) {
      set(call, chance.of(asked_), chance);
    } else if (!kinds_.empty()) {
      set(call, chance.of(kinds_).first, chance);
    }
  }

  // Changes a value to a neighbouring one.
  static void nudge(const RandomCall& call, graph::Attribute::Value& value, Chance& chance) {
    if (auto* number = std::get_if<std::int64_t>(&value)) {
      if (chance.one_in(2))
        *number = related(call, chance);
      else
        *number = static_cast<std::int64_t>(static_cast<std::uint64_t>(*number) + chance.below(3) - 1);
    }
    const auto resize = [&](auto& list) {
      if (chance.one_in(2) || list.empty()) {
        list.insert(list.end(), 1,
                    list.empty() ? typename std::decay_t<decltype(list)>::value_type() : list[0]);
      } else {
        list.pop_back();
      }
    };
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      if (chance.one_in(3) || list->empty())
        resize(*list);
      else
        list->at(chance.below(list->size())) = static_cast<std::int64_t>(chance.below(6)) - 1;
    }
    if (auto* list = std::get_if<std::vector<float>>(&value)) resize(*list);
    if (auto* list = std::get_if<std::vector<std::string>>(&value)) {
      if (chance.one_in(2) || list->empty())
        resize(*list);
      else
        list->at(chance.below(list->size())) = word(chance);
    }
  }

  static std::string word(Chance& chance) {
    static const std::string kWords[] = {"",
                                         "NOTSET",
                                         "SAME_UPPER",
                                         "SAME_LOWER",
                                         "VALID",
                                         "constant",
                                         "reflect",
                                         "edge",
                                         "wrap",
                                         "linear",
                                         "nearest",
                                         "cubic",
                                         "bilinear",
                                         "bicubic",
                                         "half_pixel",
                                         "asymmetric",
                                         "align_corners",
                                         "pytorch_half_pixel",
                                         "tf_crop_and_resize",
                                         "half_pixel_symmetric",
                                         "floor",
                                         "ceil",
                                         "round_prefer_floor",
                                         "round_prefer_ceil",
                                         "stretch",
                                         "not_larger",
                                         "not_smaller",
                                         "zeros",
                                         "border",
                                         "reflection",
                                         "avg",
                                         "max",
                                         "sum",
                                         "mean",
                                         "none",
                                         "add",
                                         "mul",
                                         "min",
                                         "forward",
                                         "reverse",
                                         "bidirectional",
                                         "Relu",
                                         "Tanh",
                                         "Sigmoid",
                                         "Affine",
                                         "LeakyRelu",
                                         "ThresholdedRelu",
                                         "ScaledTanh",
                                         "HardSigmoid",
                                         "Elu",
                                         "Softsign",
                                         "Softplus",
                                         "Clip",
                                         "HardSwish",
                                         "relu",
                                         "tanh",
                                         "silu",
                                         "swish",
                                         "gelu",
                                         "DCR",
                                         "CRD",
                                         "LEFT",
                                         "RIGHT",
                                         "UPPER",
                                         "LOWER",
                                         "NONE",
                                         "SOFTMAX",
                                         "LOGISTIC",
                                         "SOFTMAX_ZERO",
                                         "PROBIT",
                                         "TF",
                                         "IDF",
                                         "TFIDF",
                                         "MAX",
                                         "L1",
                                         "L2",
                                         "SUM",
                                         "AVERAGE",
                                         "MIN",
                                         "BRANCH_LEQ",
                                         "BRANCH_LT",
                                         "BRANCH_GTE",
                                         "BRANCH_GT",
                                         "BRANCH_EQ",
                                         "BRANCH_NEQ",
                                         "LEAF",
                                         "BRANCH_MEMBER",
                                         "ij,jk->ik",
                                         "...ij,...jk->...ik",
                                         "ii->i",
                                         "ij->",
                                         "i,i",
                                         "abc,cd",
                                         "a...->...a",
                                         "i,j->ij",
                                         "RGB",
                                         "BGR",
                                         "Grayscale",
                                         "up",
                                         "down",
                                         "linear_attention",
                                         "gated",
                                         "delta",
                                         "gated_delta",
                                         "standard",
                                         "nesterov",
                                         "int8",
                                         "int4",
                                         "uint4",
                                         "int2",
                                         "mxfp4_e2m1",
                                         "mxfp8_e4m3",
                                         "mxint8",
                                         "fp8_e4m3",
                                         "fp4_e2m1",
                                         "nf4",
                                         "binary",
                                         "ternary",
                                         "bfp16",
                                         "nvfp4",
                                         "posit8",
                                         "q4_0",
                                         "to_bfp",
                                         ".*",
                                         "a+",
                                         "(",
                                         ",",
                                         " ",
                                         "C",
                                         "en_US.UTF-8",
                                         "TO_FLOAT",
                                         "TO_STRING",
                                         "TO_INT64",
                                         "DENSE",
                                         "SPARSE",
                                         "tanh,silu"};
    return chance.of(kWords);
  }

  static std::int64_t integer(Chance& chance) {
    static constexpr std::int64_t kRare[] = {INT64_MAX, INT64_MIN, std::int64_t{1} << 40, -1000, 1000,
                                             65,        33};
    static constexpr std::int64_t kOften[] = {0, 0, 1, 1, 1, 2, 2, 3, 4, -1, -2, 5, 6, 7, 8, 10, 11, 16, 32};
    return chance.one_in(12) ? chance.of(kRare) : chance.of(kOften);
  }

  static float real(Chance& chance) {
    static constexpr float kReals[] = {0, 1, 1, 0.5F, 0.25F, 2, -1, 1e-5F, 3, 1e30F, INFINITY, NAN, -1e9F};
    return chance.of(kReals);
  }

  graph::Tensor tensor(Chance& chance, bool vector = false) const {
    Given one = given(chance);
    if (chance.one_in(2)) one.type = chance.one_in(2) ? ElementType::float32 : ElementType::int64;
    if (vector || chance.one_in(3)) one.dims = {size(chance)};
    shrink(one);
    one.layout = Layout::plain;
    return array_of(one).to_constant();
  }

  graph::Attribute::Value value(const std::string& kind, const RandomCall& call, Chance& chance) const {
    // A list often belongs to another list of the same length.
    std::size_t length = chance.one_in(20) ? 40 : chance.below(7);
    for (const auto& [name, other] : call.attributes) {
      if (!chance.one_in(4)) continue;
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&other)) length = list->size();
      if (const auto* list = std::get_if<std::vector<std::string>>(&other)) length = list->size();
    }
    if (!call.inputs.empty() && chance.one_in(4)) length = chance.of(call.inputs).dims.size();
    const auto list = [&](auto make) {
      std::vector<decltype(make(chance))> result;
      const auto same = make(chance);
      const bool all_same = chance.one_in(2);
      for (std::size_t i = 0; i < length; ++i) result.push_back(all_same ? same : make(chance));
      return result;
    };
    if (kind == "int") return chance.one_in(3) ? related(call, chance) : integer(chance);
    if (kind == "float") return real(chance);
    if (kind == "string") return word(chance);
    if (kind == "ints") return list(integer);
    if (kind == "floats") return list(real);
    if (kind == "strings") return list(word);
    if (kind == "tensor") return tensor(chance);
    if (kind == "graph") {
      const std::size_t inputs = chance.below(5), outputs = chance.below(5);
      std::vector<graph::Tensor> constants;
      for (std::size_t i = 0; i < outputs; ++i) constants.push_back(tensor(chance));
      return graph::GraphBox(handing_on(inputs, std::move(constants), outputs));
    }
    if (kind == "type_proto") {
      graph::Type type = *testing::value("t", {"2", ""}, any_type(chance)).type;
      if (chance.one_in(2)) return type;
      if (chance.one_in(2)) return graph::Type(graph::SequenceType{graph::TypeBox(std::move(type)), {}});
      return graph::Type(graph::OptionalType{graph::TypeBox(std::move(type)), {}});
    }
    if (kind == "sparse_tensor") {
      graph::SparseTensor sparse;
      sparse.values = graph::TensorBox(tensor(chance, true));
      sparse.indices = graph::TensorBox(
          int64s("indices", std::vector<std::int64_t>(static_cast<std::size_t>(sparse.values->count()), 1)));
      sparse.dims = {size(chance), size(chance)};
      return sparse;
    }
    return std::monostate();
  }

  void set(RandomCall& call, const std::string& name, Chance& chance) const {
    static const std::string kKinds[] = {"int",    "int",     "float",  "string", "ints",
                                         "floats", "strings", "tensor", "graph",  "nothing"};
    const auto found = kinds_.find(name);
    const bool as_it_is = found != kinds_.end() && !chance.one_in(20);
    graph::Attribute::Value made = value(as_it_is ? found->second : chance.of(kKinds), call, chance);
    call.attributes[name] = std::move(made);
  }

  const Descriptor& op_;
  std::map<std::string, std::string> kinds_;
  std::set<std::string>& asked_;
};

}  // namespace anybit::ops::testing
