#include "api/samples.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "api/model_access.hpp"
#include "api/port.hpp"
#include "api/sample_file.hpp"
#include "api/sample_options.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "images/image.hpp"

namespace anybit {
namespace {

// The files for certain inputs, in sequence.
class Feed {
 public:
  // `chosen`: the caller has named the one input.
  Feed(std::vector<Port> inputs, bool chosen, const SampleOptions& options)
      : inputs_(std::move(inputs)), chosen_(chosen), options_(options) {}

  void add(const std::vector<std::string>& files) { files_.insert(files_.end(), files.begin(), files.end()); }
  const std::vector<std::string>& files() const { return files_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  // The number of samples so far. A feed with a single sample repeats it while other feeds continue.
  std::int64_t given() const { return given_; }
  const Sample& last() const { return last_; }
  std::string name() const { return name_; }

  // False at the end.
  Result<bool> advance() {
    while (!open_ || index_ == open_->count()) {
      if (file_ == files_.size()) return false;
      open_ = TRY(open(files_[file_++]));
      index_ = 0;
    }
    name_ = open_->name(index_);
    last_ = TRY(open_->at(index_++));
    ++given_;
    return true;
  }

  void rewind() {
    file_ = 0;
    given_ = 0;
    open_.reset();
  }

  // An image is one sample; other files have to be opened.
  Result<std::int64_t> count() const {
    std::int64_t sum = 0;
    for (const std::string& one : files_) {
      const bool is_open = open_ && &one == &files_[file_ - 1];
      sum += is_open ? open_->count() : images::has_image_ending(one) ? 1 : TRY(open(one)).count();
    }
    return sum;
  }

  Result<SampleFile> open(const std::string& file) const {
    return SampleFile::open(file, inputs_, chosen_, options_);
  }

 private:
  std::vector<Port> inputs_;
  bool chosen_;
  const SampleOptions& options_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;
  std::optional<SampleFile> open_;
  std::int64_t index_ = 0, given_ = 0;
  Sample last_;
  std::string name_;
};

struct Filed final : Samples::Content {
  SampleOptions options;
  std::vector<std::string> skipped;  // files that hold no samples
  std::vector<std::unique_ptr<Feed>> feeds;
  std::int64_t given = 0;

  Result<std::optional<Sample>> next() override {
    if (options.limit > 0 && given == options.limit) return std::optional<Sample>();
    std::vector<const Feed*> ended;
    for (const auto& feed : feeds) {
      if (!TRY(feed->advance())) ended.push_back(feed.get());
    }
    if (ended.size() == feeds.size()) return std::optional<Sample>();
    Sample sample;
    for (const auto& feed : feeds) {
      const bool over = std::ranges::count(ended, feed.get()) != 0;
      if (over && feed->given() != 1) {
        return invalid_argument(fmt::format("there are {} samples of input '{}', and more of others",
                                            feed->given(), shown(feed->inputs()[0].name)),
                                "as many of each, or a single one, which is repeated");
      }
      for (const auto& [name, value] : feed->last()) {
        if (!sample.emplace(name, value).second)
          return invalid_argument(fmt::format("input '{}' is given twice", shown(name)), "once");
      }
    }
    ++given;
    return std::optional(std::move(sample));
  }

  std::string name() const override {
    const auto longest = std::ranges::max_element(feeds, {}, [](const auto& one) { return one->given(); });
    return (*longest)->name();
  }

  Result<void> rewind() override {
    for (const auto& feed : feeds) feed->rewind();
    given = 0;
    return {};
  }

  std::optional<std::int64_t> count() const override {
    std::int64_t most = 0;
    for (const auto& feed : feeds) {
      const auto found = feed->count();
      if (!found.ok()) return std::nullopt;
      most = std::max(most, *found);
    }
    return options.limit > 0 ? std::min(most, options.limit) : most;
  }

  std::vector<std::string> remarks() const override {
    constexpr std::size_t kTold = 3;
    if (skipped.empty()) return {};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(skipped.size(), kTold); ++i) names.push_back(shown(skipped[i]));
    std::string text = fmt::format("skipped, not samples: {}", fmt::join(names, ", "));
    if (skipped.size() > kTold) text += fmt::format(" and {} more", skipped.size() - kTold);
    return {std::move(text)};
  }
};

// "NAME=PATH". Names of inputs may contain '=', so every split that yields an input's name is tried. A path
// may contain '=', too: an existing file is taken as a path.
struct Named {
  const Port* port = nullptr;  // null: the path is for all inputs
  std::string path;
};

Result<Named> name_of(const std::string& text, const std::vector<Port>& inputs) {
  for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    const std::string name = text.substr(0, at);
    const auto port = std::ranges::find_if(inputs, [&](const Port& one) { return one.name == name; });
    if (port == inputs.end()) continue;
    if (at + 1 == text.size())
      return invalid_argument(fmt::format("no file is given for '{}'", shown(name)), "NAME=PATH");
    return Named{&*port, text.substr(at + 1)};
  }
  const std::size_t equals = text.find('=');
  if (!inputs.empty() && (equals == std::string::npos || sample_files(text).ok()))
    return Named{nullptr, text};
  std::vector<std::string_view> names;
  for (const Port& one : inputs) names.push_back(one.name);
  std::string hint = did_you_mean(text.substr(0, equals), names);
  if (hint.empty())
    hint = names.empty() ? "it has none" : fmt::format("inputs are {}", fmt::join(names, ", "));
  return error_at(Code::invalid_argument, {},
                  fmt::format("the model has no input '{}'", shown(text.substr(0, equals))), hint);
}

Result<SampleKinds> kinds_of(const Filed& content) {
  SampleKinds kinds;
  for (const auto& feed : content.feeds)
    kinds.images = kinds.images || std::ranges::any_of(feed->files(), images::has_image_ending);
  if (kinds.images) return kinds;
  for (const auto& feed : content.feeds) {
    if (!feed->files().empty()) kinds.pixels = kinds.pixels || TRY(feed->open(feed->files()[0])).has_pixels();
  }
  return kinds;
}

// Every input without a default needs data. The contents of an .npz are known only when it is read.
Result<void> check_complete(const std::vector<Port>& inputs, const Filed& content) {
  std::set<std::string_view> given;
  for (const auto& feed : content.feeds) {
    for (const Port& one : feed->inputs()) given.insert(one.name);
  }
  for (const Port& port : inputs) {
    if (!given.contains(port.name) && port.required) {
      return invalid_argument(fmt::format("there is no data for input '{}'", shown(port.name)),
                              fmt::format("{}=PATH; the model takes {}", port.name, port.type));
    }
  }
  return {};
}

}  // namespace

Result<std::optional<Sample>> Samples::next() noexcept {
  return guarded([&]() -> Result<std::optional<Sample>> {
    auto sample = TRY(content_->next());
    if (sample) content_->variety.see(*sample);
    return sample;
  });
}

std::string Samples::name() const noexcept { return content_->name(); }

Result<void> Samples::rewind() noexcept {
  return guarded([&] { return content_->rewind(); });
}

std::optional<std::int64_t> Samples::count() const noexcept {
  const auto found = guarded([&]() -> Result<std::optional<std::int64_t>> { return content_->count(); });
  return found.ok() ? *found : std::nullopt;
}

std::vector<std::string> Samples::remarks() const noexcept {
  auto found = guarded([&]() -> Result<std::vector<std::string>> {
    std::vector<std::string> all = content_->remarks();
    std::ranges::move(content_->variety.remarks(), std::back_inserter(all));
    return all;
  });
  return found.ok() ? std::move(found).value() : std::vector<std::string>();
}

Result<std::vector<Port>> inputs_of(const Model& model) noexcept {
  return guarded(
      [&]() -> Result<std::vector<Port>> { return input_ports(ModelAccess::content(model).model); });
}

Result<Samples> open_samples(const std::vector<Port>& inputs, const std::vector<std::string>& paths,
                             const SampleOptions& options) noexcept {
  return guarded([&]() -> Result<Samples> {
    TRY(check_values(options));
    if (paths.empty()) return invalid_argument("there are no samples", "a file or a folder of them");
    auto content = std::make_shared<Filed>();
    content->options = options;
    std::map<std::string, Feed*> by_input;  // "": for all inputs
    for (const std::string& text : paths) {
      const Named named = TRY(name_of(text, inputs));
      Feed*& feed = by_input[named.port ? named.port->name : std::string()];
      if (!feed || options.for_run) {
        const std::vector<Port> ports = named.port ? std::vector{*named.port} : inputs;
        content->feeds.push_back(std::make_unique<Feed>(ports, named.port != nullptr, content->options));
        feed = content->feeds.back().get();
      }
      FoundFiles found = TRY(sample_files(named.path));
      feed->add(found.files);
      std::ranges::move(found.skipped, std::back_inserter(content->skipped));
    }
    if (!options.for_run) TRY(check_complete(inputs, *content));
    TRY(check_effects(options, [&] { return kinds_of(*content); }));
    return SamplesAccess::make(std::move(content));
  });
}

}  // namespace anybit
