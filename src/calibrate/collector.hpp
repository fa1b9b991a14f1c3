// What gathers statistics of one value while samples run. A kind of collector is a file with a row of
// collector_table.hpp. What collectors of parts found, merged, is what one of the whole would have found.
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
#include "kernels/observe.hpp"
#include "ops/array.hpp"

namespace anybit::calibrate {

struct Extent;

// What a thread keeps from one look to the next.
struct Workbench {
  Counter counter;
  std::vector<float> plain, row;
  std::vector<double> sums;
  std::atomic<std::int64_t>* memory = nullptr;  // bytes that all collectors together may still take
};

// A value, as a run shows it: once in a sample, or more often in a loop.
struct Look {
  const ops::Array& array;  // for its dims and layout
  const float* x;           // its elements, in the order in which they lie
  std::size_t n;
  const kernels::Extremes& extremes;

  // The elements in the order of the dims; they may be in the workbench.
  const float* plain(Workbench& bench) const;
};

// What one sample showed in all of its looks.
struct Glance {
  bool seen = false, bad = false;  // bad: with NaN or infinity
  std::int64_t finite = 0;
  float min = 0, max = 0;

  void add(const kernels::Extremes& part);
};

// The members of a JSON object, each with its text.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;

class Collector {
 public:
  virtual ~Collector() = default;

  // Looks come from several threads, in any order: `guard` is to be held while something is changed. What is
  // found must not depend on that order. An error ends the calibration.
  virtual Result<void> see(const Look&, Workbench&, std::mutex& /* guard */) { return {}; }
  // Once for each sample, in the order of the samples, when all of its looks are over.
  virtual void end_sample(const Glance&) {}

  // The other is of the same kind, and its samples follow these.
  virtual Result<void> merge_with(const Collector& other) = 0;
  // Takes the memory that merging needs, so that this cannot fail half-way.
  virtual void make_room(const Collector&) {}

  // As members of the tensor's object in the file; or of an object of its own, if the kind has views. What is
  // read is not trusted; `extent` was read before.
  virtual void write(JsonMembers& to) const = 0;
  virtual Result<void> read(const JsonTree& from, const Extent& extent) = 0;

  // What was found as an array, for whoever is outside; empty, if it is told otherwise.
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

// What follows from merge(const T&) and ==.
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
  friend bool operator==(const CollectorOf&, const CollectorOf&) { return true; }  // it has nothing itself
};

// Takes so many bytes of the memory for collectors; an error that names them if there is not so much left.
Result<void> take_memory(Workbench& bench, std::int64_t bytes, const std::string& what);

}  // namespace anybit::calibrate
