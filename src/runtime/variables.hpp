// Values that an executor keeps between runs, and that can be written: weights that are trained. A constant
// is a value whose version never changes; that of a variable goes up with each write. What steps make of
// variables (packed weights, values that follow from variables alone) is kept with the version it was made
// from. It is made when a step needs it, and again only after a write.
//
// A value is never changed where it lies: a write puts another in its place. So a run takes all of them as
// they are when it begins, and writes may come from other threads meanwhile.
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
    std::uint64_t version = 0;  // of all writes, the number of the last that gave it a value
  };
  using Snapshot = std::vector<Value>;  // by the variable's number

  // What a step made.
  struct Made {
    std::uint64_t version = 0;
    std::shared_ptr<const ops::Prepared> prepared;
    std::vector<ops::Datum> values;  // outputs of a whole step; else the inputs that `prepared` may refer to
  };

  struct Write {
    std::size_t number;
    ops::Array array;  // is not copied, and must stay as it is
  };

  // The first values, which are not copied. `program` is the outermost.
  Variables(std::vector<std::string> names, std::vector<ops::Array> values, const Program& program);

  const std::vector<std::string>& names() const { return names_; }
  Result<std::size_t> find(std::string_view name) const;
  // Whether the value may be written: an error tells type and shape of the variable.
  Result<void> check(std::size_t number, const ops::Datum& value) const;

  std::shared_ptr<const Snapshot> now() const;
  // A run sees all of them or none. They must have been checked.
  void write(std::span<Write> writes);

  // The version of what a step has made from these values.
  static std::uint64_t version(const OfVariables& step, const Snapshot& values);
  // What was kept of that version; null if there is nothing.
  std::shared_ptr<const Made> made(std::size_t step, std::uint64_t version) const;
  // Ignored if a variable was written since.
  void keep(const OfVariables& step, std::shared_ptr<const Made> made);
  // Counts what a step has made beside memory that `memory` gave: once, since it is as large each time.
  Result<void> count(const OfVariables& step, std::int64_t bytes, ops::Memory& memory);

 private:
  const std::vector<std::string> names_;
  std::vector<std::vector<std::size_t>> users_;  // by variable: steps that keep something made of it
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> now_;
  std::uint64_t writes_ = 0;
  struct Kept {
    std::shared_ptr<const Made> made;
    std::int64_t counted = 0;  // bytes
  };
  std::vector<Kept> kept_;  // by step
};

// Finds the steps of a program, and of those inside it, that have something of its variables.
void find_steps_of_variables(Program& program);

}  // namespace anybit::runtime
