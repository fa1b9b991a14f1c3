#include "ops/check.hpp"

#include <deque>

#include "ops/attribute_kinds.hpp"
#include "ops/frame.hpp"
#include "ops/table.hpp"

namespace anybit::ops {
namespace {

constexpr std::string_view kNotKnown = "it is not known before the model runs";
// A frame without memory: an operator that requests memory has passed its checks.
class CheckedFrame final : public Frame {
 public:
  CheckedFrame(const Call& call, std::span<const Datum* const> inputs, std::span<const bool> constant)
      : Frame(call.node), call_(call), memory_(Memory::make()) {
    version = call.version;
    inputs_ = inputs;
    constant_ = constant;
    static ThreadPool alone(1);
    pool_ = &alone;
  }

  bool passed() const { return passed_; }
  const graph::Attribute* find(std::string_view name) const override { return call_.find(name); }
  Result<void> make_plain(std::size_t) override { return {}; }
  Result<Array*> out(std::size_t, ElementType, const Dims&, Layout) override { return pass(); }
  Result<Array*> out_over(std::size_t, std::size_t, ElementType, const Dims&) override { return pass(); }
  Result<void> share(std::size_t, std::size_t, const Dims&) override { return pass(); }
  Result<void> set(std::size_t, Datum) override { return pass(); }
  Result<Datum> keep(const Datum&) override { return pass(); }
  Result<std::byte*> scratch(std::int64_t) override { return pass(); }
  Result<std::span<const Datum>> call(std::string_view, std::span<const Datum>) override { return pass(); }
  Memory& memory() override { return *memory_; }

 private:
  Error pass() {
    passed_ = true;
    return not_known();
  }

  const Call& call_;
  std::shared_ptr<Memory> memory_;
  bool passed_ = false;
};

// The elements of a small constant, or elements known from inference.
Result<std::optional<Array>> contents_of(const Value& value, const Dims& dims, Memory& memory) {
  if (value.constant && dims.count() <= kFollowed) {
    auto array = Array::from(*value.constant, memory);
    if (!array.ok() || !(array->dims() == dims)) return std::optional<Array>();
    return std::optional(std::move(array).value());
  }
  if (!value.elements || value.type != ElementType::int64) return std::optional<Array>();
  const auto known = numbers(*value.elements);
  if (!known || static_cast<std::int64_t>(known->size()) != dims.count()) return std::optional<Array>();
  Array array = TRY(Array::make(memory, value.type, dims));
  std::ranges::copy(*known, array.mutable_data<std::int64_t>());
  return std::optional(std::move(array));
}

}  // namespace

bool only_checks(const Frame& frame) { return dynamic_cast<const CheckedFrame*>(&frame) != nullptr; }

bool has_elements(const Array& array) { return array.count() == 0 || array.bytes() != nullptr; }

Error not_known() { return error_at(Code::unsupported, {}, std::string(kNotKnown)); }

Result<void> check_inputs(const Descriptor& descriptor, const graph::Node& node) {
  for (std::size_t i = 0; i < descriptor.required; ++i) {
    if (i < node.inputs.size() && !node.inputs[i].empty()) continue;
    return wrong(fmt::format("input {} is missing", i),
                 fmt::format("{} needs {} input{}", descriptor.name, descriptor.required,
                             descriptor.required == 1 ? "" : "s"));
  }
  return {};
}

Result<std::int64_t> checked_version(const Descriptor& descriptor, const graph::Node& node,
                                     std::int64_t opset) {
  const auto version = version_in(descriptor, opset);
  if (!version)
    return wrong(fmt::format("opset {} does not have {} yet", opset, descriptor.name),
                 fmt::format("it came with opset {}", descriptor.since.front()));
  TRY(check_inputs(descriptor, node));
  TRY(check_attributes(node));
  return *version;
}

Result<void> expect_inputs(const Frame& frame, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t i : inputs) {
    if (!frame.datum(i).is_array())
      return wrong(fmt::format("input {} is {}", i, to_string(frame.datum(i))), "a tensor");
  }
  return {};
}

Result<void> check(const Descriptor& descriptor, const Call& call, std::span<const Array* const> contents) {
  if (!descriptor.run) return {};
  TRY(check_inputs(descriptor, call.node));
  static const std::shared_ptr<Memory> memory = Memory::make();
  const std::size_t count = call.inputs.size();
  std::deque<Datum> data;
  std::vector<const Datum*> pointers(count);
  const auto constant = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.has(i)) continue;
    const Value& value = call.in(i);
    const auto dims = value.shape ? numbers(*value.shape) : std::nullopt;
    if (value.type == ElementType::undefined || !dims || dims->size() > Dims::kCapacity) return {};
    const Dims sizes{std::span<const std::int64_t>(*dims)};
    TRY(array_bytes(value.type, sizes, Layout::plain));  // fails on overflow
    const bool given = i < contents.size() && contents[i];
    std::optional<Array> known;
    if (contents.empty()) known = TRY(contents_of(value, sizes, *memory));
    constant[i] = given || known;
    data.emplace_back(given   ? *contents[i]
                      : known ? *std::move(known)
                              : Array::over(value.type, sizes, nullptr));
    pointers[i] = &data.back();
  }
  CheckedFrame frame(call, pointers, {constant.get(), count});
  Result<void> done = descriptor.run(frame);
  if (done.ok() || frame.passed() || done.error().message == kNotKnown) return {};
  return done;
}

}  // namespace anybit::ops
