// Samples that do not come from files: from the caller's function, or from arrays in memory.
#include <algorithm>

#include "api/sample_array.hpp"
#include "api/sample_options.hpp"
#include "api/samples.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

Result<const Port*> port_named(const std::string& name, const std::vector<Port>& inputs) {
  const auto port = std::ranges::find_if(inputs, [&](const Port& one) { return one.name == name; });
  if (port != inputs.end()) return &*port;
  std::vector<std::string_view> names;
  for (const Port& one : inputs) names.push_back(one.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("inputs are {}", fmt::join(names, ", "));
  return invalid_argument(fmt::format("the model has no input '{}'", shown(name)), hint);
}

Result<void> check_complete(const std::vector<Port>& inputs, const std::map<std::string, Value>& given) {
  for (const Port& port : inputs) {
    if (port.required && !given.contains(port.name))
      return invalid_argument(fmt::format("there is no data for input '{}'", shown(port.name)),
                              fmt::format("the model takes {}", port.type));
  }
  return {};
}

// Values of all inputs; some may hold several samples.
class Batch {
 public:
  static Result<Batch> make(const std::vector<Port>& inputs, std::map<std::string, Value>&& values,
                            const SampleOptions& options) {
    // Names are checked first: a misspelt name is a better message than a missing input.
    for (const auto& [name, value] : values) TRY(port_named(name, inputs));
    TRY(check_complete(inputs, values));
    Batch batch;
    for (auto& [name, value] : values) {
      const Port* port = TRY(port_named(name, inputs));
      auto added = batch.add(*port, std::move(value), options);
      if (!added.ok()) return std::move(added).error().within(fmt::format("input '{}'", shown(name)));
    }
    return batch;
  }

  std::int64_t count() const { return count_; }
  bool has_pixels() const {
    return std::ranges::any_of(arrays_, [](const SampleArray& one) { return one.pixels.has_value(); });
  }

  Result<Sample> at(std::int64_t index) const {
    Sample sample = others_;
    for (const SampleArray& one : arrays_) sample[one.port.name] = TRY(one.at(one.count == 1 ? 0 : index));
    return sample;
  }

 private:
  Result<void> add(const Port& port, Value value, const SampleOptions& options) {
    if (value.kind != Value::Kind::tensor || value.tensor.type == "string") {
      others_[port.name] = std::move(value);
      return {};
    }
    arrays_.push_back(TRY(SampleArray::make(port, std::move(value.tensor), options)));
    const std::int64_t count = arrays_.back().count;
    if (count == 0) return invalid_argument("the array holds no sample");
    if (count != 1 && count_ != 1 && count != count_)
      return invalid_argument(fmt::format("{} samples, and {} of another input", count, count_),
                              "as many of each, or a single one, which is repeated");
    count_ = std::max(count_, count);
    return {};
  }

  std::vector<SampleArray> arrays_;
  Sample others_;
  std::int64_t count_ = 1;
};

Error only_once() {
  return error_at(Code::invalid_state, {}, "these samples can be iterated only once",
                  "give them as files, or create them again");
}

struct Made final : Samples::Content {
  explicit Made(Samples::Next next) : make(std::move(next)) {}
  Result<std::optional<Sample>> next() override { return make(); }
  Result<void> rewind() override { return only_once(); }
  Samples::Next make;
};

struct Fitted final : Samples::Content {
  Fitted(Samples::Next next, std::vector<Port> ports) : make(std::move(next)), inputs(std::move(ports)) {}

  Result<std::optional<Sample>> next() override {
    if (!batch || index == batch->count()) {
      batch.reset();  // before the call, since its data may be invalid afterwards
      auto sample = TRY(make());
      if (!sample) return std::optional<Sample>();
      batch = TRY(Batch::make(inputs, std::move(*sample), {.for_run = true}));
      index = 0;
    }
    return std::optional(TRY(batch->at(index++)));
  }
  Result<void> rewind() override { return only_once(); }

  Samples::Next make;
  std::vector<Port> inputs;
  std::optional<Batch> batch;
  std::int64_t index = 0;
};

struct InMemory final : Samples::Content {
  InMemory(Batch all, std::int64_t limit)
      : batch(std::move(all)), end(limit > 0 ? std::min(limit, batch.count()) : batch.count()) {}

  Result<std::optional<Sample>> next() override {
    if (index == end) return std::optional<Sample>();
    return std::optional(TRY(batch.at(index++)));
  }
  Result<void> rewind() override {
    index = 0;
    return {};
  }
  std::optional<std::int64_t> count() const override { return end; }

  Batch batch;
  std::int64_t end, index = 0;
};

struct Stoppable final : Samples::Content {
  Stoppable(std::shared_ptr<Content> of, std::function<bool()> when)
      : inner(std::move(of)), stop(std::move(when)) {}

  Result<std::optional<Sample>> next() override {
    if (stop()) return error_at(Code::cancelled, {}, "stopped by the caller");
    return inner->next();
  }
  std::string name() const override { return inner->name(); }
  Result<void> rewind() override { return inner->rewind(); }
  std::optional<std::int64_t> count() const override { return inner->count(); }
  std::vector<std::string> remarks() const override { return inner->remarks(); }

  std::shared_ptr<Content> inner;
  std::function<bool()> stop;
};

}  // namespace

Result<Samples> Samples::from(Next next) noexcept {
  return guarded([&]() -> Result<Samples> { return Samples(std::make_shared<Made>(std::move(next))); });
}

Result<Samples> Samples::from(Next next, std::vector<Port> inputs) noexcept {
  return guarded([&]() -> Result<Samples> {
    return Samples(std::make_shared<Fitted>(std::move(next), std::move(inputs)));
  });
}

Result<Samples> Samples::until(std::function<bool()> stop) const noexcept {
  return guarded(
      [&]() -> Result<Samples> { return Samples(std::make_shared<Stoppable>(content_, std::move(stop))); });
}

Result<Samples> samples_in(const std::vector<Port>& inputs, const std::map<std::string, Array>& arrays,
                           const SampleOptions& options) noexcept {
  return guarded([&]() -> Result<Samples> {
    std::map<std::string, Value> values;
    for (const auto& [name, array] : arrays) values.emplace(name, array);
    TRY(check_values(options));
    Batch batch = TRY(Batch::make(inputs, std::move(values), options));
    TRY(check_effects(options, [&]() -> Result<SampleKinds> {
      return SampleKinds{false, batch.has_pixels()};
    }));
    return SamplesAccess::make(std::make_shared<InMemory>(std::move(batch), options.limit));
  });
}

}  // namespace anybit
