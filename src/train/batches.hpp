// Batches of samples: each epoch in a new order, samples of one form together.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "train/augment.hpp"

namespace anybit::train {

// The order of the samples. It depends on the seed and the forms of the samples alone.
class BatchOrder {
 public:
  // `left_out`: samples that are in no batch.
  BatchOrder(const SampleStore& samples, std::int64_t batch, std::uint64_t seed,
             std::span<const std::int64_t> left_out = {});
  // The samples of the next batch: `batch` of them where the form has as many.
  std::vector<std::int64_t> next();
  void skip(std::int64_t batches);

 private:
  void start_epoch();

  const SampleStore& samples_;
  std::vector<std::int64_t> used_;
  std::int64_t batch_;
  std::uint64_t seed_, epoch_ = 0;
  std::vector<std::vector<std::int64_t>> ready_;  // batches of this epoch
  std::size_t at_ = 0;
};

// The inputs of the samples, moved, one after the other along axis 0. Scalars must be equal.
Result<Sample> stacked(const SampleStore& samples, const std::vector<std::int64_t>& which,
                       const Augmentation& change, ops::Memory& memory);
// Rows of the samples' outputs: the same the other way round. `rows`: by sample, in order.
Result<std::vector<ops::Array>> split_rows(const ops::Array& array, const std::vector<std::int64_t>& rows,
                                           ops::Memory& memory);
Result<ops::Array> joined_rows(const std::vector<const ops::Array*>& parts, ops::Memory& memory);
// The rows of a sample: the length of axis 0 of its inputs; 1 if there is none.
std::int64_t rows_of(const Sample& sample);

}  // namespace anybit::train
