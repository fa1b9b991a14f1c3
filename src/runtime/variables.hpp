// Values that an executor keeps between runs and that can be written: weights in training. A constant is a
// value whose version never changes; a variable's version increases with each write. Results that depend on
// variables only (packed weights, outputs of steps) are cached with their version: computed on demand, and
// recomputed only after a write.
//
// An array is never changed in place: a write replaces it. So a run takes a snapshot of all variables when it
// begins, and other threads may write meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ops/array.hpp"
#include "ops/frame.hpp"
#include "runtime/program.hpp"

namespace anybit::runtime {

class Variables {
 public:
  struct Value {
    std::shared_ptr<const ops::Array> array;
    std::uint64_t version = 0;  // number of the last write
  };
  using Snapshot = std::vector<Value>;  // by the variable's number

  // The cached result of a step.
  struct Made {
    std::uint64_t version = 0;
    std::shared_ptr<const ops::Prepared> prepared;
    std::vector<ops::Datum> values;  // outputs of a whole step; else inputs that `prepared` may point into
  };

  struct Write {
    std::size_t number;
    ops::Array array;  // not copied, must not change
  };

  // The initial values, not copied. `program` is the outermost.
  Variables(std::vector<std::string> names, std::vector<ops::Array> values, const Program& program);

  const std::vector<std::string>& names() const { return names_; }
  Result<std::size_t> find(std::string_view name) const;
  // Whether the value may be written: the error gives the variable's type and shape.
  Result<void> check(std::size_t number, const ops::Datum& value) const;

  std::shared_ptr<const Snapshot> now() const;
  // Atomic for runs. The values must have been checked.
  void write(std::span<Write> writes);

  // The version of a step's result for these values.
  static std::uint64_t version(const VariableCache& step, const Snapshot& values);
  // The cached result of that version; null if there is none.
  std::shared_ptr<const Made> made(std::size_t step, std::uint64_t version) const;
  // Ignored if a variable was written since.
  void keep(const VariableCache& step, std::shared_ptr<const Made> made);
  // Counts memory of the cached result that did not come from `memory`: once, since its size never changes.
  Result<void> count(const VariableCache& step, std::int64_t bytes, ops::Memory& memory);

 private:
  const std::vector<std::string> names_;
  std::vector<std::vector<std::size_t>> users_;  // by variable: steps that cache a result of it
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> now_;
  std::uint64_t writes_ = 0;
  struct Kept {
    std::shared_ptr<const Made> made;
    std::int64_t counted = 0;  // bytes
  };
  std::vector<Kept> kept_;  // by step
};

// Finds the steps of a program and its inner programs that depend on variables.
void find_steps_of_variables(Program& program);

}  // namespace anybit::runtime
