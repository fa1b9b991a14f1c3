// The interface of collectors, which gather statistics of one value during calibration. A collector is a file
// with a row in collector_table.hpp. Merging the statistics of parts gives those of the whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "anybit/result.hpp"
#include "calibrate/counter.hpp"
#include "calibrate/json.hpp"
#include "kernels/reduce/observe.hpp"
#include "ops/array.hpp"

namespace anybit::calibrate {

struct Extent;

// Buffers of a thread, reused between looks.
struct Workbench {
  Counter counter;
  std::vector<float> plain, row;
  std::vector<double> sums;
  std::atomic<std::int64_t>* memory = nullptr;  // the memory budget left for all collectors, in bytes
};

// One computation of a value: once per sample, or several times in a loop.
struct Look {
  const ops::Array& array;  // has dims and layout
  const float* x;           // the elements, in memory order
  std::size_t n;
  const kernels::Extremes& extremes;

  // Returns the elements in row-major order, in a buffer of the workbench if they have to be reordered.
  const float* plain(Workbench& bench) const;
};

// The extremes of a value over all looks of one sample.
struct Glance {
  bool seen = false, bad = false;  // bad: it has NaN or infinity
  std::int64_t finite = 0;
  float min = 0, max = 0;

  void add(const kernels::Extremes& part);
};

// The members of a JSON object, as names and serialized values.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;

class Collector {
 public:
  virtual ~Collector() = default;

  // Called by several threads, in any order: hold `guard` while modifying the collector. The result must not
  // depend on the order. An error aborts the calibration.
  virtual Result<void> see(const Look&, Workbench&, std::mutex& /* guard */) { return {}; }
  // Called once per sample, in the order of the samples, after all of its looks.
  virtual void end_sample(const Glance&) {}

  // Merges the statistics of later samples. `other` is of the same type.
  virtual Result<void> merge_with(const Collector& other) = 0;
  // Allocates the memory that merging needs, so that the merge itself cannot fail half-way.
  virtual void make_room(const Collector&) {}

  // Serializes to members of the tensor's object in the file, or of a nested object for collectors with
  // views. Reading checks its untrusted input; `extent` is read before.
  virtual void write(JsonMembers& to) const = 0;
  virtual Result<void> read(const JsonTree& from, const Extent& extent) = 0;

  // The statistics as an array, for the public API; empty if they are exposed in another way.
  struct Numbers {
    std::vector<std::int64_t> dims;
    std::vector<double> values;
  };
  virtual Numbers numbers() const { return {}; }

  virtual std::unique_ptr<Collector> copy() const = 0;
  virtual bool equals(const Collector& other) const = 0;

 protected:
  Collector() = default;
  Collector(const Collector&) = default;
  Collector& operator=(const Collector&) = default;
};

// Implements merge_with() and equals() by merge(const T&) and ==.
template <class T>
class CollectorOf : public Collector {
 public:
  Result<void> merge_with(const Collector& other) override {
    return static_cast<T&>(*this).merge(static_cast<const T&>(other));
  }
  std::unique_ptr<Collector> copy() const override {
    return std::make_unique<T>(static_cast<const T&>(*this));
  }
  bool equals(const Collector& other) const override {
    return static_cast<const T&>(*this) == static_cast<const T&>(other);
  }
  friend bool operator==(const CollectorOf&, const CollectorOf&) { return true; }  // it has no state
};

// Takes bytes from the memory budget. An error that names the collector if too few are left.
Result<void> take_memory(Workbench& bench, std::int64_t bytes, const std::string& what);

}  // namespace anybit::calibrate
