// The content of public Samples.
#pragma once

#include "anybit/samples.hpp"
#include "api/sample_variety.hpp"

namespace anybit {

struct Samples::Content {
  virtual ~Content() = default;
  virtual Result<std::optional<Sample>> next() = 0;
  virtual std::string name() const { return {}; }
  virtual Result<void> rewind() = 0;
  virtual std::optional<std::int64_t> count() const { return std::nullopt; }
  virtual std::vector<std::string> remarks() const { return {}; }

  SampleVariety variety;  // of what next() has returned
};

struct SamplesAccess {
  static Samples make(std::shared_ptr<Samples::Content> content) { return Samples(std::move(content)); }
};

}  // namespace anybit
