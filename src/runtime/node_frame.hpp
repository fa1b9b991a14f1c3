// The frame of one step of a context: gives its outputs their places from the plan, or records their needs.
#pragma once

#include <forward_list>

#include "runtime/context.hpp"

namespace anybit::runtime {

// Records the first run with certain shapes as the plan for later ones.
struct Context::Recorder {
  Plan plan;
  // A new buffer that begins at the running step.
  Place begin(std::int64_t bytes, std::size_t step);
};

class NodeFrame final : public ops::Frame {
 public:
  NodeFrame(Context& context, const Step& step, std::size_t index, const ops::Prepared* prepared);

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<void> make_plain(std::size_t i) override;
  Result<ops::Array*> out(std::size_t i, ops::ElementType type, const ops::Dims& dims,
                          ops::Layout layout) override;
  Result<ops::Array*> out_over(std::size_t i, std::size_t over, ops::ElementType type,
                               const ops::Dims& dims) override;
  Result<void> share(std::size_t i, std::size_t from, const ops::Dims& dims) override;
  Result<void> set(std::size_t i, ops::Datum value) override;
  Result<ops::Datum> keep(const ops::Datum& value) override;
  Result<std::byte*> scratch(std::int64_t bytes) override;
  Result<std::span<const ops::Datum>> call(std::string_view attribute,
                                           std::span<const ops::Datum> inputs) override;
  ops::Memory& memory() override { return *context_.memory_; }
  Result<void> apply_start() override;
  // Applies the step's finish, if the operator has not done it.
  Result<void> finish();

 private:
  int output_slot(std::size_t i) const;
  std::size_t place_index(std::size_t i) const { return context_.first_output_[index_] + i; }
  const Place* place(std::size_t i) const;
  ops::Array* store(std::size_t i, ops::Array array);
  // The size of output i, and memory for it; errors name the output.
  Result<std::int64_t> bytes(std::size_t i, ops::ElementType type, const ops::Dims& dims,
                             ops::Layout layout) const;
  Result<ops::Array> make(std::size_t i, ops::ElementType type, const ops::Dims& dims,
                          ops::Layout layout) const;
  Error of_output(std::size_t i, ops::ElementType type, const ops::Dims& dims, Error error) const;
  bool may_overwrite(std::size_t over, std::int64_t bytes) const;
  // The plan's buffer that holds input i; -1 if none does.
  int buffer_of(std::size_t i) const;

  Context& context_;
  const Step& step_;
  std::size_t index_;
  bool is_shared_ = false;                  // output 0 may share memory with an input
  ops::Datum started_;                      // input 0 after the step's start
  std::forward_list<ops::Datum> unwanted_;  // outputs without a name: kept until the node is done
};

}  // namespace anybit::runtime
