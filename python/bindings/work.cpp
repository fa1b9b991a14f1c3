#include "work.hpp"

#include <nanobind/stl/vector.h>

#include <chrono>
#include <thread>

#include "arrays.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

constexpr std::chrono::milliseconds kListen{50};  // the longest delay of a signal

Error cancelled() { return {Code::cancelled, "stopped by the caller", {}, {}}; }

}  // namespace

Work::Work(Source source, nb::object progress) : source_(std::move(source)), progress_(std::move(progress)) {}

// Sets the total of the progress display: arrays and files know their number of samples.
Samples Work::told(Samples samples) {
  const auto count = samples.count();
  if (count && !progress_.is_none()) progress_.attr("total") = *count;
  return take(samples.until(stop()));
}

std::optional<Samples> Work::samples(std::vector<Port> inputs) {
  const nb::object& from = source_.from;
  if (from.is_none()) return std::nullopt;
  if (nb::isinstance<nb::dict>(from)) {
    std::map<std::string, Array> arrays;
    for (auto& [name, value] : to_values(nb::borrow<nb::dict>(from))) arrays.emplace(name, value.tensor);
    return told(take(samples_in(inputs, arrays, source_.options)));
  }
  if (nb::isinstance<nb::list>(from)) {
    const auto paths = nb::cast<std::vector<std::string>>(from);
    return told(take(open_samples(inputs, paths, source_.options)));
  }
  return take(Samples::from([this] { return next(); }, std::move(inputs)));
}

std::function<void(std::int64_t)> Work::progress() {
  return [this](std::int64_t done) { done_ = done; };
}

std::function<void(std::int64_t, std::int64_t)> Work::progress_of_total() {
  return [this](std::int64_t done, std::int64_t total) {
    total_ = total;
    done_ = done;
  };
}

std::function<bool()> Work::stop() {
  return [this] { return stopped_.load(); };
}

Result<double> Work::ask(const std::function<double()>& question) {
  std::unique_lock lock(mutex_);
  if (stopped_) return cancelled();
  number_.reset();
  question_ = &question;
  changed_.notify_all();
  changed_.wait(lock, [&] { return question_ == nullptr; });
  if (!number_) return cancelled();
  return *number_;
}

// On any thread, without the GIL.
Result<std::optional<Sample>> Work::next() {
  std::unique_lock lock(mutex_);
  if (stopped_) return cancelled();
  answer_.reset();
  asked_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return answer_.has_value(); });
  return std::move(*answer_);
}

void Work::drive(const std::function<void()>& work) {
  std::thread worker([&] {
    work();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
  bool ended = false;
  while (!ended) {
    bool asked = false;
    released([&] {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kListen, [&] { return asked_ || question_ || ended_; });
      asked = asked_;
      ended = ended_;
    });
    attend(asked);
    answer_question();
  }
  released([&] { worker.join(); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// The loop of the calling thread, which holds the GIL: no exception may leave it before the work has ended.
void Work::attend(bool asked) {
  std::optional<Sample> sample;
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const std::int64_t done = done_, total = total_;
    if (!failure_ && !progress_.is_none() && done != shown_) {
      if (total > 0) progress_.attr("total") = total;
      progress_(shown_ = done);
    }
    if (asked && !failure_) {
      const nb::object made = source_.from();
      if (!made.is_none()) sample = to_values(nb::cast<nb::dict>(made));
    }
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    stopped_ = true;
  }
  if (!asked) return;
  const std::lock_guard lock(mutex_);
  asked_ = false;
  if (failure_)
    answer_.emplace(cancelled());
  else
    answer_.emplace(std::move(sample));
  changed_.notify_all();
}

void Work::answer_question() {
  const std::function<double()>* question = nullptr;
  {
    const std::lock_guard lock(mutex_);
    question = question_;
  }
  if (!question) return;
  std::optional<double> number;
  try {
    if (!failure_) number = (*question)();
  } catch (...) {
    failure_ = std::current_exception();
    stopped_ = true;
  }
  const std::lock_guard lock(mutex_);
  number_ = number;
  question_ = nullptr;
  changed_.notify_all();
}

}  // namespace anybit::python
