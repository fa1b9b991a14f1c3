#include "train/agreement.hpp"

#include "evaluate/row_scores.hpp"

namespace anybit::train {

using ops::Array;

void Agreement::add(const OutputLoss& of, const Array& a, const Array& b) {
  if (of.axis < 0 || !(a.dims() == b.dims())) return;
  const auto axis = static_cast<std::size_t>(of.axis);
  const auto classes = static_cast<std::size_t>(a.dim(axis));
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < a.rank(); ++i) inner *= a.dim(i);
  if (classes == 0 || inner == 0) return;
  std::vector<float> one(classes), other(classes);
  const std::int64_t block = static_cast<std::int64_t>(classes) * inner;
  for (std::int64_t start = 0; start < a.count(); start += block) {
    for (std::int64_t at = start; at < start + inner; ++at) {
      for (std::size_t c = 0; c < classes; ++c) {
        one[c] = a.data<float>()[at + static_cast<std::int64_t>(c) * inner];
        other[c] = b.data<float>()[at + static_cast<std::int64_t>(c) * inner];
      }
      ++rows;
      agreed += evaluate::best_of(one) == evaluate::best_of(other) ? 1 : 0;
    }
  }
}

}  // namespace anybit::train
