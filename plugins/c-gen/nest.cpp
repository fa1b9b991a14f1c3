#include "nest.hpp"

namespace anybit::cgen {

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Dims spread_strides(const Dims& dims, const Dims& to) {
  // Loop-carried values may change their shape between iterations; generated code has fixed shapes.
  bool fits = dims.size() <= to.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i)
    fits = dims[i] == 1 || dims[i] == to[to.size() - dims.size() + i];
  if (!fits)
    throw Refusal(
        fmt::format("c-gen cannot generate a value of shape [{}] where one of shape [{}] is computed: shapes "
                    "change at run time",
                    fmt::join(dims, ", "), fmt::join(to, ", ")));
  const Dims own = strides_of(dims);
  Dims strides(to.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) strides[to.size() - dims.size() + i] = own[i];
  }
  return strides;
}

Nest::Nest(const Dims& dims, const std::vector<Walk>& walks, std::string name) : name_(std::move(name)) {
  for (const Walk& walk : walks) walks_.push_back({{}, walk.offset});
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    bool joins = !dims_.empty();
    for (std::size_t w = 0; w < walks.size() && joins; ++w)
      joins = walks_[w].strides.back() == walks[w].strides[axis] * dims[axis];
    if (joins) {
      dims_.back() *= dims[axis];
    } else {
      dims_.push_back(dims[axis]);
      for (Walk& walk : walks_) walk.strides.push_back(0);
    }
    for (std::size_t w = 0; w < walks.size(); ++w) walks_[w].strides.back() = walks[w].strides[axis];
  }
}

void Nest::open(Node& node) const {
  for (std::size_t i = 0; i < dims_.size(); ++i) node.loop(fmt::format("{}{}", name_, i), dims_[i]);
  if (dims_.empty()) node.open("");
}

void Nest::close(Node& node) const {
  for (std::size_t i = 0; i < std::max<std::size_t>(dims_.size(), 1); ++i) node.close();
}

std::string Nest::at(std::size_t walk) const {
  const auto& [strides, offset] = walks_[walk];
  std::string text;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (strides[i] == 0) continue;
    const std::int64_t size = strides[i] < 0 ? -strides[i] : strides[i];
    text += strides[i] < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
    text += fmt::format("{}{}", name_, i);
    if (size != 1) text += fmt::format(" * {}", size);
  }
  if (text.empty()) return fmt::format("{}", offset);
  if (offset != 0) text += fmt::format(" {} {}", offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
  return text;
}

}  // namespace anybit::cgen
