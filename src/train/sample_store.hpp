// The samples of a stream, kept for several passes: in memory up to a limit, the rest in a temporary file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/array.hpp"

namespace anybit::train {

using Sample = std::map<std::string, ops::Datum>;  // inputs by name

class SampleStore {
 public:
  // `most`: bytes in memory.
  explicit SampleStore(std::int64_t most = std::int64_t{1} << 30);
  ~SampleStore();
  SampleStore(SampleStore&&) noexcept;
  SampleStore& operator=(SampleStore&&) noexcept;

  // Copies it. An error if it holds NaN or infinity, something else than numeric tensors, or if the disk is
  // full.
  Result<void> add(const Sample& sample);
  std::int64_t size() const { return static_cast<std::int64_t>(kept_.size()); }
  // The inputs of sample i, as they were.
  Result<Sample> get(std::int64_t i) const;
  // Equal for samples whose inputs have the same names, types and dims.
  const std::string& form(std::int64_t i) const { return forms_[kept_[static_cast<std::size_t>(i)].form]; }

 private:
  struct File;
  struct Kept {
    Sample sample;         // empty if it is in the file
    std::uint64_t at = 0;  // offset in the file
    std::size_t form = 0;
  };
  Result<void> spool(const Sample& sample, Kept& kept);

  std::int64_t most_, used_ = 0;
  std::shared_ptr<ops::Memory> memory_;
  std::vector<Kept> kept_;
  std::vector<std::string> forms_;
  std::vector<Sample> shapes_;  // by form: arrays without elements
  std::map<std::string, std::size_t> numbers_;
  std::unique_ptr<File> file_;
};

}  // namespace anybit::train
