// Long work: it runs on a thread of its own, while the thread that called from Python waits, makes samples
// when they are asked for, shows progress, and listens to signals. So an iterator of samples runs where its
// owner expects it, and Ctrl-C ends the work at the next sample.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "anybit/samples.hpp"
#include "errors.hpp"

namespace anybit::python {

// Where samples come from: a list of paths, a dict of arrays, a function that gives a dict or None, or None.
struct Source {
  nb::object from;
  SampleOptions options;
};

class Work {
 public:
  // `progress` is called with the number of samples done, or None; its `total` is set where that is known.
  Work(Source source, nb::object progress);

  // Samples for these inputs, to be used inside run() alone; nothing if the source is None.
  std::optional<Samples> samples(std::vector<Port> inputs);
  std::function<void(std::int64_t)> progress();

  // Raises what the work, the source or a signal raised.
  template <class T>
  T run(const std::function<Result<T>()>& work) {
    std::optional<Result<T>> result;
    drive([&] { result.emplace(work()); });
    return take(std::move(*result));
  }

 private:
  Samples told(Samples samples);
  void drive(const std::function<void()>& work);
  void attend(bool asked);
  Result<std::optional<Sample>> next();

  Source source_;
  nb::object progress_;
  std::int64_t shown_ = 0;
  std::exception_ptr failure_;

  std::atomic<std::int64_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, ended_ = false;
  std::optional<Result<std::optional<Sample>>> answer_;
};

}  // namespace anybit::python
