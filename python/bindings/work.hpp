// Long-running work: it runs on its own thread, while the calling Python thread waits, produces samples on
// request, shows progress and handles signals. So an iterator of samples runs on its owner's thread, and
// Ctrl-C stops the work at the next sample.
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

// The source of samples: a list of paths, a dict of arrays, a function that returns a dict or None, or None.
struct Source {
  nb::object from;
  SampleOptions options;
};

class Work {
 public:
  // `progress` is called with the number of samples done, or is None; its `total` is set if known.
  Work(Source source, nb::object progress);

  // Samples for these inputs, for use inside run() only; empty if the source is None.
  std::optional<Samples> samples(std::vector<Port> inputs);
  std::function<void(std::int64_t)> progress();
  // The same for steps other than samples, of which the work knows the number.
  std::function<void(std::int64_t, std::int64_t)> progress_of_total();
  // Whether the work shall stop: for work that reads no samples.
  std::function<bool()> stop();
  // For use inside run(): calls `question` on the calling thread, which holds the GIL.
  Result<double> ask(const std::function<double()>& question);

  // Rethrows exceptions of the work, the source or a signal handler.
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
  void answer_question();
  Result<std::optional<Sample>> next();

  Source source_;
  nb::object progress_;
  std::int64_t shown_ = 0;
  std::exception_ptr failure_;

  std::atomic<std::int64_t> done_ = 0, total_ = 0;  // 0: not known
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, ended_ = false;
  std::optional<Result<std::optional<Sample>>> answer_;
  const std::function<double()>* question_ = nullptr;
  std::optional<double> number_;
};

}  // namespace anybit::python
