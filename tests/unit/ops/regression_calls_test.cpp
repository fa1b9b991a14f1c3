// Calls that once crashed, read out of bounds, or ran with other types or shapes than inferred.
#include <gtest/gtest.h>

#include "meeting.hpp"
#include "starts.hpp"

namespace anybit::ops {
namespace {

using testing::CallPaths;
using testing::RandomCall;
using testing::read_call;

struct Odd {
  std::string_view domain, op;
  std::int64_t version;
  std::string call;
  std::size_t outputs = 1;
};

void PrintTo(const Odd& odd, std::ostream* out) { *out << odd.op << "-" << odd.version << " " << odd.call; }

// "" if the call runs, else its error. It must not run if inference rejects it, and must give the inferred
// types.
std::string said(const Odd& odd) {
  const RandomCall call = read_call(odd.call, odd.outputs);
  std::set<std::string> asked;
  CallPaths meeting(*find(odd.domain, odd.op), odd.version, call, asked);
  const auto inference = meeting.infer();
  const auto ran = meeting.run(true);
  EXPECT_TRUE(inference.has_value()) << odd.op << ": no model";
  if (!inference) return "no model";
  const NodeFacts& facts = inference->nodes.front();
  if (!ran.ok()) return ran.error().text();
  EXPECT_EQ(facts.problem, "") << odd.op;
  for (std::size_t i = 0; i < ran->size(); ++i)
    EXPECT_EQ(testing::difference(facts.outputs[i], (*ran)[i]), "")
        << odd.op << " output " << i << " is " << to_string((*ran)[i]);
  return "";
}

TEST(OddCalls, AnAxisOfDftOutOfRangeIsRejected) {
  EXPECT_NE(said({"", "DFT", 17, "f[1,8,1]; axis=9223372036854775807"}), "");
  EXPECT_NE(said({"", "DFT", 17, "f[1,8,1]; axis=-9223372036854775807"}), "");
}

TEST(OddCalls, AScalarOutOfAFlatTableHasNoLastAxis) {
  EXPECT_NE(said({"com.microsoft", "GatherBlockQuantized", 1, "b[2] l[]=1 f[1]; bits=4"}), "");
}

TEST(OddCalls, AGradientOfASliceHasASizeThatCanBe) {
  for (const std::string size : {"-9223372036854775808", "9223372036854775807"})
    EXPECT_NE(said({"ai.anybit.training", "SliceGradient", 1, "f[1] l[1]=" + size + " l[1]=0 l[1]=1"}), "");
}

TEST(OddCalls, ASplitIntoNoOutputsIsRejected) { EXPECT_NE(said({"", "Split", 13, "f[4]", 0}), ""); }

TEST(OddCalls, TreeLabelsHaveTheTypeThatIsUsed) {
  const std::string trees =
      "f[2,3]; nodes_treeids=[0,0,0] nodes_nodeids=[0,1,2] nodes_featureids=[0,0,0] "
      "nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_values={0.5,0,0} nodes_truenodeids=[1,0,0] "
      "nodes_falsenodeids=[2,0,0] class_treeids=[0,0] class_nodeids=[1,2] class_ids=[0,2] "
      "class_weights={1,2} classlabels_int64s=[3,4,5]";
  EXPECT_EQ(said({"ai.onnx.ml", "TreeEnsembleClassifier", 3, trees, 2}), "");
  EXPECT_NE(said({"ai.onnx.ml", "TreeEnsembleClassifier", 3, trees + " classlabels_strings=['a']", 2}), "");
}

TEST(OddCalls, AnEmptyOptionalIsNotATensor) {
  EXPECT_NE(said({"", "DeformConv", 22, "f[1,1,3,3] f[1,1,2,2] nf[1,8,2,2]"}), "");
  EXPECT_NE(said({kMicrosoft, "MatMulIntegerToFloat", 1, "b[2,4] b[4,3] f[] nf[]"}), "");
  EXPECT_NE(said({kMicrosoft, "DynamicQuantizeMatMul", 1, "f[2,4] s[4,3] nf[]"}), "");
  EXPECT_NE(said({kMicrosoft, "MatMulNBits", 1, "f[2,32] nb[4,2,8] f[8]; K=32 N=4 bits=4 block_size=16"}),
            "");
  EXPECT_NE(said({"", "QLinearMatMul", 21, "b[2,3] f[] b[] b[3,4] nf[] b[] f[] b[]"}), "");
  EXPECT_NE(said({kMicrosoft, "QGemm", 1, "b[2,3] nf[] b[] b[3,4] f[] b[]"}), "");
}

TEST(OddCalls, ASlopeOfAnotherTypeIsRejected) {
  EXPECT_EQ(said({"", "PRelu", 6, "d[2,3] d[1]"}), "");
  EXPECT_NE(said({"", "PRelu", 6, "d[2,3] s[1]"}), "");
  EXPECT_NE(said({"", "PRelu", 6, "f[2,3] d[1]"}), "");
}

TEST(OddCalls, NormalizationsAcceptTheTypesThatOnnxLetsThemMix) {
  EXPECT_NE(said({"", "LayerNormalization", 17, "f[2,4] d[4]"}), "");
  EXPECT_NE(said({"", "LayerNormalization", 17, "f[2,4] f[4] h[4]"}), "");
  EXPECT_EQ(said({kMicrosoft, "LayerNormalization", 1, "f[2,4] d[4] d[4]", 3}), "");
  EXPECT_EQ(said({"", "RMSNormalization", 23, "f[2,4] h[4]"}), "");
  EXPECT_EQ(said({"", "BatchNormalization", 15, "h[2,3,4] f[3] f[3] d[3] d[3]=1; training_mode=1", 3}), "");
}

TEST(OddCalls, KeysHaveTheTypeOfQueriesAndPastKeysThatOfPresentKeys) {
  const std::string q = "f[1,2,3,4]", h = "h[1,2,3,4]";
  EXPECT_EQ(said({"", "Attention", 23, q + " " + q + " " + h, 3}), "");
  EXPECT_NE(said({"", "Attention", 23, q + " " + h + " " + q, 3}), "");
  EXPECT_NE(said({"", "Attention", 23, q + " " + q + " " + h + " - " + q + " " + q, 3}), "");
}

// The check precedes every allocation: generators rely on it.
TEST(OddCalls, TheSequenceLengthsOfAttentionAreCheckedWithAMask) {
  const std::string q = "f[1,2,3,4]", three = q + " " + q + " " + q;
  const auto problems = [&](const std::string& more) {
    const RandomCall call = read_call(three + more);
    std::set<std::string> asked;
    const auto inference = CallPaths(*find("", "Attention"), 24, call, asked).infer();
    return inference ? inference->problems.size() : 1000;
  };
  EXPECT_EQ(problems(" f[3,3] - - l[1]"), 0);
  EXPECT_EQ(problems(" f[3,3] - - l[2]"), 1);
  EXPECT_EQ(problems(" f[3,3] - - i[1]"), 1);
  EXPECT_EQ(problems(" t[3,3]"), 1);
}

// Attributes that an operator does not have are ignored.
TEST(OddCalls, AMatMulIgnoresTransposition) {
  EXPECT_EQ(said({"", "MatMul", 13, "f[2,3] cf[3,4]; transA=1 transB=1 alpha=0.5"}), "");
  EXPECT_EQ(said({"", "MatMulInteger", 10, "b[2,3] cb[3,4]; transA=1 transB=1"}), "");
  EXPECT_EQ(said({kMicrosoft, "FusedMatMul", 1, "f[3,2] cf[4,3]; transA=1 transB=1 alpha=0.5"}), "");
}

// Sanitizers report overflow.
TEST(OddCalls, IntegersWrap) {
  EXPECT_EQ(said({"", "MatMul", 13, "w[1,1]=65535 w[1,1]=65535"}), "");
  EXPECT_EQ(said({"", "Gemm", 13, "i[1,1]=2147483647 i[1,1]=2 i[1,1]=2147483647; alpha=3.0 beta=1e30"}), "");
  EXPECT_NE(said({"", "ReverseSequence", 10, "f[4,2] l[2]=3; time_axis=9223372036854775807"}), "");
  EXPECT_EQ((Dims{INT64_MAX, INT64_MAX, 0}.count()), 0);
  EXPECT_EQ((strides_of({0, INT64_MAX, INT64_MAX}).back()), 1);
  EXPECT_EQ(said({"", "TfIdfVectorizer", 9,
                  "l[5]; max_gram_length=2 max_skip_count=9223372036854775807 min_gram_length=1 mode='TF' "
                  "ngram_counts=[0,2] ngram_indexes=[0,1,2] pool_int64s=[1,2,0,1]"}),
            "");
  EXPECT_NE(said({"", "Col2Im", 18, "f[1,1,1] cl[1]=1 cl[1]=1; pads=[9223372036854775807,0]"}), "");
}

class Inferred : public ::testing::TestWithParam<Odd> {};

TEST_P(Inferred, TypesAndShapesMatchTheRun) { EXPECT_EQ(said(GetParam()), ""); }

INSTANTIATE_TEST_SUITE_P(
    Calls, Inferred,
    ::testing::ValuesIn(std::vector<Odd>{
        {"", "Add", 1, "f[3] f[2,3]"},
        {"", "Add", 6, "f[2,3,4] f[3]; broadcast=1 axis=1"},
        {"", "Greater", 1, "f[3] f[2,3]"},
        {"", "Max", 6, "f[3] f[2,3]"},
        {"", "Add", 14, "f[3] f[3] f[2]"},
        {"", "ArgMax", 13, "f[]"},
        {"", "ReduceSum", 13, "f[2,3] cl[2]=1"},
        {"", "Constant", 12, "; value_floats={0.5,1} value_string='a'"},
        {"", "RandomUniform", 1, "l[1]=2; shape=[3]"},
        {"", "Split", 13, "f[1,4]", 3},
        {"", "Slice", 11, "f[4]; starts=[0] ends=[4] steps=[2]"},
        {"", "Loop", 13, "l[]=1 z[1]=1; body=G23", 2},
        {"", "Resize", 10, "f[1,1,2,2] cf[4]=2; axes=[1]"},
        {"", "Resize", 13, "f[1,1,2,2] f[0] f[4]=2 cl[4]=5"},
        {"", "TfIdfVectorizer", 9,
         "l[]; max_gram_length=1 max_skip_count=0 min_gram_length=1 mode='TF' ngram_counts=[0] "
         "ngram_indexes=[0,1] pool_int64s=[1,2]"},
        {"ai.onnx.ml", "LabelEncoder", 2, "l[3]; keys_int64s=[0,1] values_int64s=[5,6] values_strings=[]"},
        {"ai.onnx.ml", "OneHotEncoder", 1, "l[3]; cats_int64s=[1,2] cats_strings=['a']"},
        {"ai.onnx.ml", "LinearClassifier", 1,
         "f[2,3]; coefficients={1,2,3,4,5,6} classlabels_ints=[5,6] classlabels_strings=[]", 2},
        {kMicrosoft, "FusedConv", 1, "f[1,2,5,5] f[3,2,2,2] f[3] f[2,1,1,1]"},
        {kMicrosoft, "QGemm", 1, "b[2,3] f[] b[] b[3,4] f[] b[] - - b[]"},
        {kMicrosoft, "QLinearReduceMean", 1, "b[2,3] f[] b[] f[] b[]; axes=[1,1] keepdims=0"},
        {kMicrosoft, "DynamicQuantizeLSTM", 1,
         "f[3,2,4] cs[1,4,12] cs[1,3,12] f[1,24] - - - - cf[1] cs[1] cf[1] cs[1]"},
        {"ai.anybit", "DequantizeMatMul", 1, "f[2,32] - cs[32,4] cf[2,4]; block_size=16 axis=0"},
    }),
    [](const auto& info) {
      return std::string(info.param.op) + std::to_string(info.param.version) + "_" +
             std::to_string(info.index);
    });

TEST(OddCalls, RunRejectsCallsThatInferenceRejects) {
  EXPECT_NE(said({kMicrosoft, "Attention", 1, "f[1,2,4] f[4,8]; num_heads=1"}), "");
  EXPECT_NE(said({"ai.anybit", "DequantizeMatMul", 1,
                  "f[2,32] - cs[32,4] cf[2,4]; block_size=16 axis=0 dims=[4,32]"}),
            "");
  EXPECT_NE(said({"", "ConvTranspose", 11, "f[1,2,4] f[2,3,2]; output_shape=[5] pads=[0,0,0]"}), "");
  EXPECT_NE(said({"", "ConvTranspose", 11, "f[1,2,1] f[2,3,2]; pads=[5,5]"}), "");
  EXPECT_NE(said({"", "RandomNormal", 1, "; shape=[2,-1]"}), "");
  EXPECT_NE(said({"", "If", 16, "z[]=1; then_branch=G01"}), "");
}

}  // namespace
}  // namespace anybit::ops
