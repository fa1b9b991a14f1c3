#include "quantize/constant_notes.hpp"

#include <algorithm>
#include <iterator>

namespace anybit::quantizing {
namespace {

bool is_refined(const ConstantNote& note) { return note.rounding || note.rounding.ranges; }

// Returns true if a constant that is quantized as `one` can be used where `other` is requested. Uses without
// a refinement, or with non-saturating kernels, accept either.
bool serves(const ConstantNote& one, const ConstantNote& other) {
  return one.spec == other.spec && one.grouped == other.grouped && one.turned == other.turned &&
         one.compute == other.compute &&
         (!is_refined(one) || !is_refined(other) ||
          (one.rounding == other.rounding && one.outputs_axis == other.outputs_axis)) &&
         (one.order == other.order || !one.order || !other.order);
}

}  // namespace

std::size_t ConstantNotes::add(ConstantNote wanted) {
  std::vector<std::size_t>& of_tensor = by_tensor_[wanted.tensor];
  const auto found = std::ranges::find_if(
      of_tensor, [&](std::size_t number) { return serves(notes_.constants[number], wanted); });
  if (found == of_tensor.end()) {
    of_tensor.push_back(notes_.constants.size());
    notes_.constants.push_back(std::move(wanted));
    return of_tensor.back();
  }
  ConstantNote& same = notes_.constants[*found];
  same.places.insert(same.places.end(), wanted.places.begin(), wanted.places.end());
  same.apart |= wanted.apart;
  if (is_refined(wanted)) {
    // Added at the end: a weight may have many consumers.
    std::vector<calibrate::WantedOf> needs = std::move(same.rounding.needs);
    std::ranges::move(wanted.rounding.needs, std::back_inserter(needs));
    same.rounding = std::move(wanted.rounding);
    same.rounding.needs = std::move(needs);
    same.outputs_axis = wanted.outputs_axis;
  }
  if (wanted.order) same.order = wanted.order;
  same.bounded |= wanted.bounded;
  return *found;
}

}  // namespace anybit::quantizing
