// Bytes → model → runs: the results are the same with and without fusions, with and without a plan.
#include "../require.hpp"
#include "agreement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit::runtime::testing;
  if (size > 256) return 0;
  const std::string wrong = disagreement(CaseMaker({data, size}).make());
  require(wrong.empty(), "runs disagree", wrong);
  return 0;
}
