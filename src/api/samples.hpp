// The content of public Samples.
#pragma once

#include "anybit/samples.hpp"

namespace anybit {

struct Samples::Content {
  virtual ~Content() = default;
  virtual Result<std::optional<Sample>> next() = 0;
  virtual std::string name() const { return {}; }
  virtual Result<void> rewind() = 0;
  virtual std::optional<std::int64_t> count() const { return std::nullopt; }
};

struct SamplesAccess {
  static Samples make(std::shared_ptr<Samples::Content> content) { return Samples(std::move(content)); }
};

}  // namespace anybit
