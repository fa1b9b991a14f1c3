// A frame that allocates each buffer separately with exactly the requested size: an address sanitizer detects
// the first access out of bounds.
#pragma once

#include <deque>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "ops/frame.hpp"
#include "ops/layout.hpp"

namespace anybit::ops::testing {

inline std::shared_ptr<std::byte> exactly(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* const data = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  return {data, [](std::byte* at) { ::operator delete(at, kAlignment); }};
}

inline Result<Array> exact_array(ElementType type, const Dims& dims, Layout layout = Layout::plain) {
  constexpr std::int64_t kMost = 1 << 20;
  const std::int64_t bytes = TRY(array_bytes(type, dims, layout));
  if (bytes > kMost) return error_at(Code::limit_exceeded, {}, "more than a test gives");
  if (type == ElementType::string) {
    auto held = std::make_shared<std::vector<std::string>>(static_cast<std::size_t>(dims.count()));
    auto* const data = reinterpret_cast<std::byte*>(held->data());
    return Array::over(type, dims, data, held);
  }
  const auto held = exactly(static_cast<std::size_t>(bytes));
  return Array::over(type, dims, held.get(), held, layout);
}

// Subgraphs of its node pass their inputs through, as made by `handing_on` (random_call.hpp).
class PlainFrame final : public Frame {
 public:
  PlainFrame(const graph::Node& called, std::int64_t of_version, std::span<const Datum* const> given,
             std::span<const bool> constant, const Prepared* prepared, std::set<std::string>* asked)
      : Frame(called), memory_(Memory::make(64 << 20)), asked_(asked) {
    version = of_version;
    pointers_.assign(given.begin(), given.end());
    inputs_ = pointers_;
    constant_ = constant;
    prepared_ = prepared;
    static ThreadPool alone(1);
    pool_ = &alone;
    outputs.resize(called.outputs.size());
  }

  std::vector<Datum> outputs;

  const graph::Attribute* find(std::string_view name) const override {
    if (asked_) asked_->emplace(name);
    return node.attribute(name);
  }
  Result<void> make_plain(std::size_t i) override {
    if (i >= pointers_.size() || !pointers_[i] || !pointers_[i]->is_array()) return {};
    const Array& before = pointers_[i]->array;
    if (before.layout() == Layout::plain) return {};
    Array plain = TRY(exact_array(before.type(), before.dims()));
    convert_layout(before, plain);
    plain_.push_back(std::make_unique<Datum>(std::move(plain)));
    pointers_[i] = plain_.back().get();
    return {};
  }
  Result<Array*> out(std::size_t i, ElementType type, const Dims& dims, Layout layout) override {
    Array made = TRY(exact_array(type, dims, layout));
    Datum& to = i < outputs.size() && !node.outputs[i].empty() ? outputs[i] : unwanted_.emplace_back();
    to = std::move(made);
    return &to.array;
  }
  Result<Array*> out_over(std::size_t i, std::size_t over, ElementType type, const Dims& dims) override {
    return out(i, type, dims, in(over).layout());
  }
  Result<void> share(std::size_t i, std::size_t from, const Dims& dims) override {
    if (i < outputs.size()) outputs[i] = in(from).reshaped(dims);
    return {};
  }
  Result<void> set(std::size_t i, Datum value) override {
    if (i < outputs.size()) outputs[i] = TRY(keep(value));
    return {};
  }
  // A value without owner ends with the node.
  Result<Datum> keep(const Datum& value) override {
    if (!value.is_array() || value.array.owned()) return value;
    return Datum(TRY(value.array.copy(*memory_)));
  }
  Result<std::byte*> scratch(std::int64_t bytes) override {
    if (bytes > (4 << 20)) return error_at(Code::limit_exceeded, {}, "more than a test gives");
    scratch_.push_back(exactly(static_cast<std::size_t>(bytes)));
    return scratch_.back().get();
  }
  Result<std::span<const Datum>> call(std::string_view attribute, std::span<const Datum> inputs) override {
    const graph::Graph* inner = graph(attribute);
    if (!inner) return wrong("the graph is missing");
    if (++calls_ > 50) return error_at(Code::limit_exceeded, {}, "more calls than a test gives");
    called_.assign(inner->outputs.size(), {});
    for (std::size_t i = 0; i < called_.size(); ++i) {
      if (inner->inputs.empty()) {
        const graph::Tensor& held = std::get<graph::Tensor>(inner->nodes[i].attributes[0].value);
        called_[i] = TRY(Array::from(held, *memory_));
      } else if (const std::size_t from = i % inner->inputs.size(); from < inputs.size()) {
        called_[i] = TRY(keep(inputs[from]));
      }
    }
    return std::span<const Datum>(called_);
  }
  Memory& memory() override { return *memory_; }

 private:
  std::shared_ptr<Memory> memory_;
  std::set<std::string>* asked_;
  std::vector<const Datum*> pointers_;
  std::vector<std::unique_ptr<Datum>> plain_;
  std::vector<std::shared_ptr<std::byte>> scratch_;
  std::vector<Datum> called_;
  std::deque<Datum> unwanted_;  // addresses are stable
  int calls_ = 0;
};

}  // namespace anybit::ops::testing
