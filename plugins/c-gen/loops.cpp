#include "loops.hpp"

namespace anybit::cgen {
namespace {

Dims strides_of(const Dims& dims, const Dims& input) {
  Dims strides(dims.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::int64_t size = input[input.size() - 1 - i];
    if (size != 1) strides[dims.size() - 1 - i] = stride;
    stride *= size;
  }
  return strides;
}

}  // namespace

Spread::Spread(const Dims& dims, const std::vector<Dims>& inputs) {
  std::vector<Dims> all{strides_of(dims, dims)};
  for (const Dims& input : inputs) all.push_back(strides_of(dims, input));
  std::vector<Dims> kept(all.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool joins = !dims_.empty();
    for (std::size_t k = 0; joins && k < all.size(); ++k) joins = kept[k].back() == all[k][d] * dims[d];
    if (joins) {
      dims_.back() *= dims[d];
      for (std::size_t k = 0; k < all.size(); ++k) kept[k].back() = all[k][d];
    } else {
      dims_.push_back(dims[d]);
      for (std::size_t k = 0; k < all.size(); ++k) kept[k].push_back(all[k][d]);
    }
  }
  out_strides_ = std::move(kept[0]);
  strides_.assign(kept.begin() + 1, kept.end());
}

std::string Spread::index(const Dims& strides) const {
  std::string text;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] == 0) continue;
    text += fmt::format("{}i{}", text.empty() ? "" : " + ", d);
    if (strides[d] != 1) text += fmt::format(" * {}", strides[d]);
  }
  return text.empty() ? "0" : text;
}

std::string Spread::in(std::size_t k) const { return index(strides_[k]); }
std::string Spread::out() const { return index(out_strides_); }

void Spread::open(Node& node) const {
  for (std::size_t d = 0; d < dims_.size(); ++d) node.loop(fmt::format("i{}", d), dims_[d]);
}
void Spread::close(Node& node) const {
  for (std::size_t d = 0; d < dims_.size(); ++d) node.end();
}

}  // namespace anybit::cgen
