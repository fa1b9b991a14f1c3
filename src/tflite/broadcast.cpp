#include "tflite/broadcast.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/try.hpp"

namespace anybit::tflite {
namespace {

// The rank that all inputs in the layout of channels first have; 0 if they stay as stored.
std::int64_t rank_of_channels_first(const OperatorReader& here, std::size_t first, std::size_t count) {
  std::int64_t rank = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!here.constant(i) && here.layout(i) == Layout::channels_first) rank = here.in(i).rank();
  }
  for (std::size_t i = first; rank > 0 && i < first + count; ++i) {
    const TensorInfo& info = here.in(i);
    const bool follows =
        info.rank() == rank || element_count(info.dims) == 1 || (here.constant(i) && info.rank() < rank);
    if (!info.has_rank || info.rank() > rank || !follows) return 0;
  }
  return rank;
}

Result<std::string> operand_in_front(OperatorReader& here, std::size_t i, std::int64_t rank) {
  const TensorInfo& info = here.in(i);
  if (info.rank() == rank) return here.value(i, Layout::channels_first);
  if (info.rank() == 0 || element_count(info.dims) == 1) return here.value(i);
  Dims dims(static_cast<std::size_t>(rank - info.rank()), 1);
  // The axis of scales would move: such a constant is brought into shape by nodes.
  if (info.quantized() && !info.quantization->per_tensor()) {
    const std::string unsqueezed =
        here.emit("Reshape", {TRY(here.value(i)), here.graph().integers([&] {
                                Dims all = dims;
                                all.insert(all.end(), info.dims.begin(), info.dims.end());
                                return all;
                              }())});
    return here.emit("Transpose", {unsqueezed}, {graph::attribute("perm", to_channels_first(rank))});
  }
  dims.insert(dims.end(), info.dims.begin(), info.dims.end());
  return here.graph().rearranged(here.input(i), dims, to_channels_first(rank));
}

}  // namespace

Result<Operands> operands(OperatorReader& here, std::size_t first, std::size_t count) {
  Operands result;
  const std::int64_t rank = rank_of_channels_first(here, first, count);
  if (rank > 0) result.layout = Layout::channels_first;
  for (std::size_t i = first; i < first + count; ++i)
    result.values.push_back(rank > 0 ? TRY(operand_in_front(here, i, rank)) : TRY(here.value(i)));
  return result;
}

}  // namespace anybit::tflite
