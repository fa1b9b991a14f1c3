#include "train/targets.hpp"

#include "base/try.hpp"

namespace anybit::train {

using ops::Array;

Result<std::vector<Array>> Targets::of(const std::vector<std::int64_t>& which, const Sample& inputs,
                                       const std::vector<std::int64_t>& rows, bool changed) {
  const bool keep = keep_ && !changed;
  const bool known = keep && std::ranges::all_of(which, [&](std::int64_t i) { return kept_.contains(i); });
  std::vector<Array> all;
  if (known) {
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      std::vector<const Array*> parts;
      for (const std::int64_t i : which) parts.push_back(&kept_.at(i)[k]);
      all.push_back(TRY(joined_rows(parts, *memory_)));
    }
    return all;
  }
  const std::vector<ops::Datum> outputs = TRY(teacher_->run(inputs));
  for (const std::size_t one : outputs_) all.push_back(outputs[one].array);
  if (!keep) return all;
  std::vector<std::vector<Array>> parts;
  std::int64_t bytes = 0;
  for (const Array& one : all) {
    bytes += static_cast<std::int64_t>(one.byte_count());
    if (used_ + bytes > most_) return all;
    auto split = split_rows(one, rows, *memory_);
    if (!split.ok()) {
      keep_ = false;
      return all;
    }
    parts.push_back(std::move(split).value());
  }
  used_ += bytes;
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::vector<Array>& kept = kept_[which[i]];
    kept.clear();
    for (const auto& output : parts) kept.push_back(output[i]);
  }
  return all;
}

}  // namespace anybit::train
