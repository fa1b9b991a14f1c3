#include "calibrate/gather.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "base/guard.hpp"
#include "base/try.hpp"
#include "ops/convert.hpp"
#include "ops/create/random_stream.hpp"

namespace anybit::calibrate {
namespace {

using ops::ElementType;

constexpr std::int64_t kMostCollected = std::int64_t{2} << 30;

// The state of a calibration. Order-independent statistics are updated at once; order-dependent ones when the
// turn of their sample has come.
class Gathering {
 public:
  Gathering(const std::vector<Watched>& watched, const NextSample& next, const GatherOptions& options,
            int threads)
      : watched_(watched),
        next_(next),
        options_(options),
        window_(8 * threads),
        statistics_(watched.size()),
        guards_(std::make_unique<std::mutex[]>(watched.size())) {
    memory_ = options.max_collected > 0         ? options.max_collected
              : options.executor.max_memory > 0 ? options.executor.max_memory
                                                : kMostCollected;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      for (const Wanted& one : watched[i].collect) statistics_[i].want(one);
      statistics_[i].averages.momentum = options.momentum;
    }
  }

  // The values that the executor has to watch: those of calibration, then those beside it.
  std::vector<std::string> values();
  // Runs samples until there are none left.
  void work(const runtime::Executor& executor);
  Result<std::vector<Statistics>> finish();
  std::int64_t taken() const { return std::max<std::int64_t>(taken_, 1); }

 private:
  struct Looker;
  struct Sample {
    std::int64_t number;
    std::map<std::string, ops::Datum> inputs;
  };

  std::optional<Sample> take();
  void done(std::int64_t number, std::vector<Glance> glances);
  void failed(std::int64_t number, Error error);
  std::string name_of(std::int64_t number) const;

  const std::vector<Watched>& watched_;
  const NextSample& next_;
  const GatherOptions& options_;
  const std::int64_t window_;  // how far ahead of the oldest running sample others may be
  std::vector<Statistics> statistics_;
  std::vector<std::optional<std::size_t>> beside_;  // by watched value: its index in Beside::values
  std::unique_ptr<std::mutex[]> guards_;            // one per entry of the above
  std::atomic<std::int64_t> memory_;                // budget of collectors, in bytes

  std::mutex input_;  // held while a sample is read
  mutable std::mutex mutex_;
  std::condition_variable turn_came_;
  std::int64_t taken_ = 0, in_order_ = 0, done_ = 0;
  bool stopped_ = false;
  std::map<std::int64_t, std::vector<Glance>> waiting_;  // finished samples that wait for earlier ones
  std::int64_t failed_sample_ = -1;
  std::optional<Error> error_;
};

// Observes the values of the samples that one thread runs.
struct Gathering::Looker final : runtime::Watcher {
  Gathering& all;
  Workbench bench;
  std::vector<Glance> glances;
  std::vector<float> converted;
  std::shared_ptr<runtime::Watcher> beside;  // of this sample; null: none

  explicit Looker(Gathering& gathering) : all(gathering) { bench.memory = &gathering.memory_; }

  const float* floats(const ops::Array& array) {
    if (array.type() == ElementType::float32) return array.data<float>();
    converted.resize(static_cast<std::size_t>(array.count()));
    ops::convert(array.type(), array.bytes(), ElementType::float32,
                 reinterpret_cast<std::byte*>(converted.data()), array.count());
    return converted.data();
  }

  Result<void> see(std::size_t index, const ops::Datum& value) override {
    if (beside && all.beside_[index]) TRY(beside->see(*all.beside_[index], value));
    return index < all.watched_.size() ? look(index, value) : Result<void>();
  }

  Result<void> look(std::size_t index, const ops::Datum& value) {
    if (!value.is_array()) return {};
    const ElementType type = value.array.type();
    if (type != ElementType::float32 && type != ElementType::float16 && type != ElementType::bfloat16 &&
        type != ElementType::float64)
      return {};
    const auto n = static_cast<std::size_t>(value.array.count());
    const float* x = floats(value.array);
    const kernels::Extremes seen = kernels::extremes(x, n);
    if (seen.nans + seen.infinities > 0 && !all.options_.allow_nan && !hides(index, x, n, seen))
      return bad(index, n, seen);
    glances[index].add(seen);
    const Look look{value.array, x, n, seen};
    Result<void> done;
    all.statistics_[index].each([&](Collector& one) {
      if (done.ok()) done = one.see(look, bench, all.guards_[index]);
    });
    if (done.ok()) return {};
    return std::move(done).error().within(fmt::format("value '{}'", shown(all.watched_[index].name)));
  }

  // Allows infinities in a mask if all are negative.
  bool hides(std::size_t index, const float* x, std::size_t n, const kernels::Extremes& seen) const {
    return all.watched_[index].mask && seen.nans == 0 &&
           std::none_of(x, x + n, [](float one) { return one == std::numeric_limits<float>::infinity(); });
  }

  Error bad(std::size_t index, std::size_t n, const kernels::Extremes& seen) const {
    return error_at(Code::invalid_data, fmt::format("value '{}'", shown(all.watched_[index].name)),
                    fmt::format("of {} elements, {} are NaN and {} infinite", n, seen.nans, seen.infinities),
                    "check this sample; --allow-nan counts such values and ignores them");
  }
};

std::vector<std::string> Gathering::values() {
  std::vector<std::string> names;
  for (const Watched& one : watched_) names.push_back(one.name);
  beside_.resize(names.size());
  const std::size_t more = options_.beside ? options_.beside->values.size() : 0;
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; more > 0 && i < watched_.size(); ++i) known.emplace(watched_[i].name, i);
  for (std::size_t i = 0; i < more; ++i) {
    const std::string& name = options_.beside->values[i];
    const auto found = known.find(name);
    if (found != known.end()) {
      beside_[found->second] = i;
    } else {
      names.push_back(name);
      beside_.emplace_back(i);
    }
  }
  return names;
}

std::string Gathering::name_of(std::int64_t number) const {
  const std::string name = options_.sample_name ? options_.sample_name(number) : std::string();
  return name.empty() ? fmt::format("sample {}", number) : fmt::format("sample {} ({})", number, name);
}

// Of several failures, reports that of the first sample: all samples before it were started, and will finish.
void Gathering::failed(std::int64_t number, Error error) {
  Error named = options_.name_samples ? std::move(error).within(name_of(number)) : std::move(error);
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  turn_came_.notify_all();
  if (error_ && failed_sample_ < number) return;
  failed_sample_ = number;
  error_ = std::move(named);
}

std::optional<Gathering::Sample> Gathering::take() {
  const std::lock_guard reading(input_);
  {
    std::unique_lock lock(mutex_);
    turn_came_.wait(lock, [&] { return stopped_ || taken_ - in_order_ < window_; });
    if (stopped_) return std::nullopt;
  }
  auto sample = guarded([&] { return next_(); });
  if (!sample.ok()) {
    failed(taken_, std::move(sample).error());
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (!*sample) {
    stopped_ = true;
    return std::nullopt;
  }
  return Sample{taken_++, std::move(**sample)};
}

void Gathering::done(std::int64_t number, std::vector<Glance> glances) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(number, std::move(glances));
  for (auto first = waiting_.find(in_order_); first != waiting_.end(); first = waiting_.find(in_order_)) {
    for (std::size_t i = 0; i < first->second.size(); ++i) {
      const Glance& glance = first->second[i];
      Statistics& statistics = statistics_[i];
      if (glance.bad && statistics.extent.bad_sample < 0)
        statistics.extent.add_bad(in_order_, name_of(in_order_));
      statistics.each([&](Collector& one) { one.end_sample(glance); });
    }
    waiting_.erase(first);
    ++in_order_;
  }
  turn_came_.notify_all();
  ++done_;
  if (options_.progress) options_.progress(done_);
}

void Gathering::work(const runtime::Executor& executor) {
  Looker looker(*this);
  while (auto sample = take()) {
    looker.glances.assign(watched_.size(), {});
    looker.beside = options_.beside ? options_.beside->watcher(sample->number) : nullptr;
    // Threads that wait for this sample must be notified of any failure.
    auto ended = guarded([&]() -> Result<void> {
      const ops::RepeatableDraws draws(static_cast<std::uint64_t>(sample->number));
      auto outputs = TRY(executor.run(sample->inputs, options_.profile, &looker));
      if (options_.outputs) TRY(options_.outputs(sample->number, std::move(outputs)));
      done(sample->number, std::move(looker.glances));
      return {};
    });
    if (!ended.ok()) return failed(sample->number, std::move(ended).error());
  }
}

Result<std::vector<Statistics>> Gathering::finish() {
  if (error_) return *std::move(error_);
  if (taken_ == 0) return invalid_argument("there are no samples", "calibration needs at least one");
  return std::move(statistics_);
}

}  // namespace

Result<std::vector<Statistics>> gather(std::shared_ptr<const graph::Model> model,
                                       const std::vector<Watched>& watched, const NextSample& next,
                                       const GatherOptions& options) {
  ThreadPool pool(options.executor.threads);
  runtime::ExecutorOptions prepared = options.executor;
  prepared.threads = 1;
  Gathering gathering(watched, next, options, pool.threads());
  prepared.watch = gathering.values();
  const auto executor = TRY(runtime::Executor::make(std::move(model), prepared));
  const std::int64_t weights = executor->memory().used();
  pool.run(pool.threads(), 1, [&](std::int64_t, std::int64_t) { gathering.work(*executor); });
  if (options.beside)
    options.beside->run_bytes =
        (executor->memory().peak() - weights) / std::min<std::int64_t>(pool.threads(), gathering.taken());
  return gathering.finish();
}

Result<std::vector<Statistics>> gather(const runtime::Executor& executor, const std::vector<Watched>& watched,
                                       const NextSample& next, const GatherOptions& options) {
  GatherOptions alone = options;
  alone.beside = nullptr;
  Gathering gathering(watched, next, alone, 1);
  gathering.work(executor);
  return gathering.finish();
}

}  // namespace anybit::calibrate
