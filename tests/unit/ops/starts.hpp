// Valid calls that random search does not find: the starting points of every_operator_test.cpp.
#pragma once

#include <sstream>
#include <stdexcept>

#include "random_call.hpp"

namespace anybit::ops::testing {

// Inputs, then attributes after a ";". An input is a letter for its type and its sizes, "f[2,3]". The suffix
// =8 sets all its elements to 8; the prefix c makes it a constant, q a sequence, n an empty optional; "-"
// leaves it out. Attributes are 3, 0.5, 'text', [1,2], {0.5,1}, ['a','b'], a tensor as Tf[2], or a graph of 2
// inputs and 1 output as G21; E is sigmoid(a) · b + a.
struct Start {
  std::string_view op, call;
  std::size_t outputs = 1;
};

inline constexpr Start kStarts[] = {
    {"Adagrad", "f[] l[] f[3] f[3] f[3]", 2},
    {"Adam", "f[] l[] f[3] f[3] f[3] f[3]; alpha=0.9 beta=0.9", 3},
    {"Momentum", "f[] l[] f[3] f[3] f[3]; alpha=0.9 beta=0.9 mode='standard' norm_coefficient=0.1", 2},
    {"AdamW", "f[] l[]=1 f[3] f[3] f[3] f[3]; beta1=0.9 beta2=0.9 weight_decay=0.1 lower={0}", 3},
    {"AdamW", "f[] l[]=1 f[3] f[2] f[3] f[2] f[3] f[2] f[3] f[2]; rate_scales={1,0.5} decay_scales={1,0}", 6},
    {"SgdMomentum", "f[] f[3] f[3] f[3]; momentum=0.9 nesterov=1 weight_decay=0.1", 2},
    {"ExponentialAverage", "f[]=1 f[3] f[3]"},
    {"ClipByGlobalNorm", "f[]=1 f[3] f[2,3]", 3},
    {"ConvGradientInput", "f[4,3,4,4] f[3,4,1,1] cl[4]=4"},
    {"ConvGradientInput", "f[4,6,3,3] f[6,2,2,2] cl[4]=4; group=2"},
    {"ConvGradientInput", "f[8,8,8] f[8,8,1] cl[3]=8"},
    {"ConvGradientWeight", "f[2,2,1] f[2,2,2] cl[3]=2"},
    {"ConvGradientWeight", "f[1,8,8,8] f[1,8,8,8] cl[4]=8; pads=[3,3,4,4]"},
    {"MaxPoolGradient", "f[1,2,4,4] f[1,2,5,5]; kernel_shape=[2,2]"},
    {"AveragePoolGradient", "f[5,5,4,4] cl[4]=5; kernel_shape=[2,2]"},
    {"ResizeGradient", "f[2,2,4] cl[3]=2 f[0] f[0] cl[3]=2"},
    {"ResizeGradient", "f[4,4,4] cl[3]=2 - cf[3]=2; mode='linear'"},
    {"ScatterAdd", "l[2]=1 f[2,4] cl[2]=4"},
    {"SumTo", "f[2,3] cl[1]=3"},
    {"SumTo", "f[2,1,1] cl[2]=1"},
    {"SumTo", "f[1,8,3] cl[1]=1"},
    {"BatchNormalizationGradient", "f[2,3,4] f[2,3,4] f[3] f[3] f[3]=1", 3},
    {"BatchNormalizationGradient", "f[2,3,4] f[2,3,4] f[3] f[3] f[3]=1 f[3] f[3]=1; training_mode=1", 3},
    {"AffineGrid", "f[1,2,3] cl[4]=1"},
    {"AffineGrid", "f[2,3,4] cl[5]=2"},
    {"Attention", "f[1,2,3,4] f[1,2,3,4] f[1,2,3,4]"},
    {"Attention", "f[1,3,8] f[1,3,8] f[1,3,8]; q_num_heads=2 kv_num_heads=2", 4},
    {"Attention", "f[1,2,4] f[4,12] f[12]; num_heads=2", 2},
    {"Attention", "f[1,2,3,4] f[1,2,3,4] f[1,2,3,4] z[3,5] f[1,2,2,4] f[1,2,2,4]", 3},
    {"Elementwise", "f[2,3] f[3]; steps=E"},
    {"FlexAttention", "f[1,2,3,4] f[1,2,3,4] f[1,2,3,4]"},
    {"AveragePool", "f[1,2,5,5]; kernel_shape=[2,2]"},
    {"LpPool", "f[1,2,5,5]; kernel_shape=[2,2]"},
    {"MaxPool", "f[1,2,5,5]; kernel_shape=[2,2]", 2},
    {"MaxUnpool", "f[1,1,2,2] l[1,1,2,2]; kernel_shape=[2,2] strides=[2,2]"},
    {"MaxRoiPool", "f[1,1,4,4] f[1,5]=0; pooled_shape=[2,2]"},
    {"RoiAlign", "f[1,1,4,4] f[2,4] l[2]=0"},
    {"BatchNormalization", "f[2,3,4] f[3] f[3] f[3] f[3]=1"},
    {"BatchNormalization", "f[2,3,4] f[3] f[3] f[3] f[3]=1; training_mode=1", 3},
    {"InstanceNormalization", "f[2,3,4] f[3] f[3]"},
    {"GroupNormalization", "f[2,4,3] f[4] f[4]; num_groups=2"},
    {"GroupNormalization", "f[2,4,3] f[2] f[2]; num_groups=2"},
    {"SkipLayerNormalization", "f[1,2,4] f[1,2,4] f[4] f[4] f[4]", 4},
    {"SkipSimplifiedLayerNormalization", "f[1,2,4] f[1,2,4] f[4] f[4]", 4},
    {"EmbedLayerNormalization", "i[1,3] i[1,3] f[8,4] f[8,4] f[8,4] f[4] f[4] i[1,3]", 3},
    {"BitShift", "b[3] b[3]; direction='LEFT'"},
    {"CausalConvWithState", "f[1,2,5] f[2,1,3] f[2] f[1,2,2]", 2},
    {"Col2Im", "f[1,1,1] cl[2]=1 cl[2]=1"},
    {"Col2Im", "f[1,4,9] cl[2]=4 cl[2]=2"},
    {"Conv", "f[1,2,5,5] cf[3,2,2,2] cf[3]"},
    {"FusedConv", "f[1,2,5,5] cf[3,2,2,2] cf[3]; activation='Relu'"},
    {"ConvTranspose", "f[1,2,4,4] f[2,3,2,2]"},
    {"ConvTranspose", "f[1,2,4] cf[2,3,2] cf[3]"},
    {"ConvInteger", "b[1,2,4,4] cs[3,2,2,2]"},
    {"ConvIntegerToFloat", "b[1,2,4,4] cs[3,2,2,2] f[] cf[]"},
    {"DeformConv", "f[1,1,3,3] f[1,1,2,2] f[1,8,2,2]"},
    {"DequantizeLinear", "s[2,3] f[]"},
    {"DequantizeLinear", "s[2,4] f[2,2]; axis=1 block_size=2"},
    {"QuantizeLinear", "f[2,4] f[2,2] b[2,2]; axis=1 block_size=2"},
    {"DynamicQuantizeLSTM",
     "f[3,2,4] cs[1,4,12] cs[1,3,12] f[1,24] - - - - cf[1] cs[1] cf[1] cs[1]; hidden_size=3"},
    {"DynamicQuantizeMatMul", "f[2,4] cs[4,3] f[]"},
    {"DynamicQuantizeMatMul", "f[4,2,4] cs[4,4] f[] cs[4,4]=0"},
    {"FusedGemm", "f[2,3] f[3,4]; activation='Relu'"},
    {"Gemm", "f[2,3] cf[3,4] f[4]"},
    {"GRU", "f[3,2,4] f[1,9,4] f[1,9,3]; hidden_size=3", 2},
    {"GRU", "f[3,2,4] cf[2,9,4] cf[2,9,3] cf[2,18] i[2]=2 f[2,2,3]; hidden_size=3 direction='bidirectional'",
     2},
    {"LSTM", "f[3,2,4] f[1,12,4] f[1,12,3]; hidden_size=3", 3},
    {"LSTM", "f[3,2,4] cf[1,12,4] cf[1,12,3] f[1,24] i[2]=2 f[1,2,3] f[1,2,3] f[1,9]; hidden_size=3", 3},
    {"RNN", "f[3,2,4] f[1,3,4] f[1,3,3]; hidden_size=3", 2},
    {"GatherBlockQuantized", "b[4,32] l[2] f[4,2]; block_size=16 bits=8"},
    {"GridSample", "f[1,1,3,3] f[1,2,2,2]"},
    {"GridSample", "f[1,1,3,3,3] f[1,2,2,2,3]"},
    {"LinearAttention", "f[1,2,4] f[1,2,4] f[1,2,4]; q_num_heads=2 kv_num_heads=2 update_rule='linear'", 2},
    {"LinearAttention", "f[1,2,4] f[1,2,4] f[1,2,4] - f[1,2,2] f[1,2,2]; q_num_heads=2 kv_num_heads=2", 2},
    {"MatMulIntegerToFloat", "b[2,4] cb[4,3] f[] f[]"},
    {"MatMulInteger", "b[2,4] cb[4,3] b[] b[]"},
    {"MatMulNBits", "f[2,32] cb[4,2,8] cf[8]; K=32 N=4 bits=4 block_size=16"},
    {"MelWeightMatrix", "l[]=8 l[]=16 l[]=8192 f[]=0 f[]=4096"},
    {"MultiHeadAttention", "f[1,2,8] f[1,2,8] f[1,2,8]; num_heads=2", 3},
    {"GroupQueryAttention",
     "f[1,2,8] f[1,2,8] f[1,2,8] f[1,2,4,4] f[1,2,4,4] i[1]=1 i[]=2; num_heads=2 kv_num_heads=2", 3},
    {"NegativeLogLikelihoodLoss", "f[3,4] l[3]"},
    {"SoftmaxCrossEntropyLoss", "f[3,4] l[3]", 2},
    {"NonMaxSuppression", "f[1,3,4] f[1,1,3] l[]=2"},
    {"OneHot", "l[3] cl[]=4 f[2]"},
    {"QAttention", "b[1,2,4] cb[4,12] f[12] f[] f[]; num_heads=2", 2},
    {"QGemm", "b[2,3] f[] b[] cb[3,4] f[] b[]"},
    {"QGemm", "b[2,3] cf[] cb[] cb[3,4] cf[] cb[] ci[4] cf[] cb[]"},
    {"QLinearAdd", "b[3] f[] b[] b[3] f[] b[] f[] b[]"},
    {"QLinearMul", "b[3] f[] b[] b[3] f[] b[] f[] b[]"},
    {"QLinearAveragePool", "b[1,2,4,4] f[] b[] f[] b[]; kernel_shape=[2,2]"},
    {"QLinearGlobalAveragePool", "b[1,2,3,3] f[] b[] f[] b[]"},
    {"QLinearConcat", "f[] b[] b[2,3] f[] b[] b[1,3] f[] b[]; axis=0"},
    {"QLinearConv", "b[1,2,4,4] f[]=1 b[] cs[3,2,2,2] f[]=1 cs[]=0 f[]=1 b[]"},
    {"QLinearConv", "b[1,2,4,4] cf[]=1 cb[] cs[3,2,2,2] cf[]=1 cs[]=0 cf[]=1 cb[] ci[3]"},
    {"QLinearConvTranspose", "b[1,2,4,4] cf[]=1 cb[] cs[2,3,2,2] cf[]=1 cs[]=0 cf[]=1 cb[]"},
    {"QLinearLeakyRelu", "b[3] f[] b[] f[] b[]"},
    {"QLinearSigmoid", "b[3] f[] b[] f[] b[]"},
    {"QLinearSoftmax", "b[2,3] f[] b[] f[] b[]; opset=13"},
    {"QLinearMatMul", "b[2,3] f[] b[] cb[3,4] f[] b[] f[] b[]"},
    {"QLinearReduceMean", "b[2,3] f[] b[] f[] b[]; axes=[1] keepdims=1"},
    {"Range", "l[]=0 l[]=5 l[]=1"},
    {"Resize", "f[1,1,2,2] cf[4]=2"},
    {"Resize", "f[1,1,2,2] f[0] cf[4]=2"},
    {"Resize", "f[1,1,2,2] f[0] f[0] cl[4]=2"},
    {"Upsample", "f[1,1,2,2] cf[4]=2"},
    {"ReverseSequence", "f[4,2] l[2]=3"},
    {"RotaryEmbedding", "f[1,2,3,4] f[8,2] f[8,2] l[1,3]"},
    {"RotaryEmbedding", "f[1,2,3,4] l[1,3] f[8,2] f[8,2]"},
    {"Scan", "f[3,2]; num_scan_inputs=1 body=G11"},
    {"Scan", "f[2] f[3,2]; num_scan_inputs=1 body=G22", 2},
    {"Scan", "- f[1,3,2]; num_scan_inputs=1 body=G11"},
    {"Loop", "l[]=3 z[]=1 f[2]; body=G34", 3},
    {"If", "z[]; then_branch=G01 else_branch=G01"},
    {"SequenceMap", "qf[2]; body=G11"},
    {"Scatter", "f[3,3] l[2,3]=1 f[2,3]"},
    {"ScatterElements", "f[3,3] l[2,3]=1 f[2,3]"},
    {"ScatterND", "f[4,2] l[2,1] f[2,2]"},
    {"TensorScatter", "f[2,4,3] f[2,2,3] l[2]=1"},
    {"SequenceAt", "qf[2] l[]=0"},
    {"STFT", "f[1,16,1] cl[]=4 f[8]"},
    {"DFT", "f[1,8,1]"},
    {"TfIdfVectorizer",
     "l[5]; max_gram_length=2 max_skip_count=1 min_gram_length=1 mode='TF' ngram_counts=[0,2] "
     "ngram_indexes=[0,1,2] pool_int64s=[1,2,0,1]"},
    {"TreeEnsembleRegressor",
     "f[2,3]; nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[0,0,0] "
     "nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_values={0.5,0,0} nodes_truenodeids=[1,0,0] "
     "nodes_falsenodeids=[2,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
     "target_weights={1,2} n_targets=1"},
    {"TreeEnsembleClassifier",
     "f[2,3]; nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[0,0,0] "
     "nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_values={0.5,0,0} nodes_truenodeids=[1,0,0] "
     "nodes_falsenodeids=[2,0,0] class_treeids=[0,0] class_nodeids=[1,2] class_ids=[0,1] "
     "class_weights={1,2} classlabels_int64s=[3,4]",
     2},
    {"TreeEnsemble",
     "f[2,3]; nodes_featureids=[0] nodes_modes=Tb[1]=0 nodes_splits=Tf[1] nodes_truenodeids=[0] "
     "nodes_trueleafs=[1] nodes_falsenodeids=[1] nodes_falseleafs=[1] leaf_targetids=[0,0] "
     "leaf_weights=Tf[2] tree_roots=[0] n_targets=1"},
    {"SVMRegressor",
     "f[2,3]; coefficients={1,2} support_vectors={1,2,3,4,5,6} n_supports=2 rho={1} kernel_type='LINEAR'"},
    {"LinearClassifier", "f[2,3]; coefficients={1,2,3,4,5,6} intercepts={1,2} classlabels_ints=[5,6]", 2},
    {"LinearRegressor", "f[2,3]; coefficients={1,2,3} intercepts={1}"},
    {"Decode", "cb[8]; format='fp8_e4m3' dims=[2,4]"},
    {"Decode", "cb[32] cb[2]; format='mxfp4_e2m1' dims=[2,32]"},
    {"QuantizeDequantize", "f[2,32]; format='mxfp4_e2m1'"},
    {"DecodeMatMul", "f[2,2] - cb[8]; format='fp8_e4m3' dims=[2,4]"},
    {"DequantizeMatMul", "f[2,32] - cs[32,4] cf[2,4]; block_size=16 axis=0 dims=[32,4]"},
    {"LookUpNeurons", "b[2,4] ci[2,1,3]=1 cb[2,1]"},
    {"LookUpNeurons", "s[3] ci[1,2,2]=0 cb[1,8]; input_bits=2 output_bits=3 signed=1"},
    {"TableDecode", "cb[8] cf[256] cf[1]; bits=8 dims=[2,4]"},
    {"TableDecode", "cb[4] cf[16] cf[1]; bits=4 dims=[2,4]"},
    {"BinaryMatMul", "f[2,8] - cb[4] cf[4]; format='binary' dims=[8,4]"},
    {"BinaryConv", "f[1,8,3,3] - cb[4] cf[4]; format='binary' dims=[4,8,1,1] coded=[4,8]"},
    {"Einsum", "f[2,3] f[3,4]; equation='ij,jk->ik'"},
    {"StringSplit", "t[3]; delimiter=' '", 2},
    {"Unique", "l[5]", 4},
    {"ArrayFeatureExtractor", "f[2,4] l[2]"},
    {"LabelEncoder", "l[3]; keys_int64s=[0,1] values_strings=['a','b']"},
    {"PRelu", "f[2,3] f[3]"},
    {"QEmbedLayerNormalization", "i[1,3] i[1,3] b[8,4] b[8,4] b[8,4] b[4] b[4]"},
    {"ImageDecoder", "b[16]"},
    {"CenterCropPad", "f[4,4] cl[2]=3"},
    {"Bernoulli", "f[4]"},
};

inline ElementType type_of_letter(char letter) {
  using enum ElementType;
  switch (letter) {
    case 'f':
      return float32;
    case 'l':
      return int64;
    case 'i':
      return int32;
    case 'b':
      return uint8;
    case 's':
      return int8;
    case 'w':
      return uint16;
    case 'd':
      return float64;
    case 'h':
      return float16;
    case 'z':
      return boolean;
    case 't':
      return string;
    default:
      throw std::invalid_argument("a start has an unknown type");
  }
}

inline std::vector<std::string> between_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, ',');) parts.push_back(part);
  return parts;
}

inline Given read_given(std::string text) {
  Given one;
  one.absent = text == "-";
  if (one.absent) return one;
  one.constant = text.front() == 'c';
  if (text.front() == 'q') one.kind = Datum::Kind::sequence;
  if (text.front() == 'n') one.kind = Datum::Kind::nothing;
  if (one.constant || one.kind != Datum::Kind::array) text.erase(0, 1);
  one.type = type_of_letter(text.front());
  one.seed = 3;
  const bool real = one.type == ElementType::float32;
  one.contents = real ? Contents::quarters : Contents::indices;
  const std::size_t end = text.find(']');
  for (const std::string& part : between_commas(text.substr(2, end - 2)))
    one.dims.push_back(std::stoll(part));
  if (end + 1 < text.size()) {
    one.contents = Contents::same;
    one.value = std::stod(text.substr(end + 2));
  }
  return one;
}

inline graph::Attribute::Value read_value(const std::string& text) {
  const std::string inside = text.size() > 2 ? text.substr(1, text.size() - 2) : "";
  const auto unquoted = [](const std::string& part) { return part.substr(1, part.size() - 2); };
  if (text == "[]") return std::monostate();  // as in a file
  if (text.front() == '\'') return unquoted(text);
  if (text.front() == 'T') return array_of(read_given(text.substr(1))).to_constant();
  if (text == "E") {
    graph::Graph chain;
    for (const char* name : {"a", "b"}) chain.inputs.emplace_back().name = graph::Text(name);
    chain.nodes = {graph::make_node("Sigmoid", {"a"}, {"s"}), graph::make_node("Mul", {"s", "b"}, {"m"}),
                   graph::make_node("Add", {"m", "a"}, {"y"})};
    for (graph::Node& node : chain.nodes) node.opset = 13;
    return graph::GraphBox(std::move(chain));
  }
  if (text.front() == 'G') {
    const auto outputs = static_cast<std::size_t>(text[2] - '0');
    return graph::GraphBox(handing_on(static_cast<std::size_t>(text[1] - '0'),
                                      std::vector(outputs, floats("held", {2})), outputs));
  }
  if (text.starts_with("['")) {
    std::vector<std::string> list;
    for (const std::string& part : between_commas(inside)) list.push_back(unquoted(part));
    return list;
  }
  if (text.front() == '[') {
    std::vector<std::int64_t> list;
    for (const std::string& part : between_commas(inside)) list.push_back(std::stoll(part));
    return list;
  }
  if (text.front() == '{') {
    std::vector<float> list;
    for (const std::string& part : between_commas(inside)) list.push_back(std::stof(part));
    return list;
  }
  if (text.find_first_of(".e") != std::string::npos) return std::stof(text);
  return static_cast<std::int64_t>(std::stoll(text));
}

inline RandomCall read_call(const std::string& text, std::size_t outputs = 1) {
  RandomCall call;
  call.wanted.assign(outputs, true);
  const std::size_t middle = text.find(';');
  std::istringstream inputs(text.substr(0, middle));
  for (std::string word; inputs >> word;) call.inputs.push_back(read_given(word));
  std::istringstream attributes(middle == std::string::npos ? "" : text.substr(middle + 1));
  for (std::string word; attributes >> word;) {
    const std::size_t equals = word.find('=');
    // A string may contain a blank.
    std::string value = word.substr(equals + 1);
    for (std::string more; value == "'" && attributes >> more;) value = "' '";
    call.attributes[word.substr(0, equals)] = read_value(value);
  }
  return call;
}

// The starts of an operator, in any domain.
inline std::vector<RandomCall> starts_of(std::string_view op) {
  std::vector<RandomCall> calls;
  for (const Start& start : kStarts) {
    if (start.op == op) calls.push_back(read_call(std::string(start.call), start.outputs));
  }
  return calls;
}

}  // namespace anybit::ops::testing
