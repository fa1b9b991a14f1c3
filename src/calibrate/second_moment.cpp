#include "calibrate/second_moment.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "calibrate/collector_table.hpp"
#include "calibrate/fields.hpp"
#include "kernels/gemm/rank_update.hpp"

namespace anybit::calibrate {
namespace {

constexpr std::int64_t kMostSums = std::int64_t{1} << 28;  // 4 GB

// Accumulates the upper triangle of one group's rows, many at a time to save memory traffic. Products of two
// floats are exact in double, so the instruction set does not matter.
class Triangle {
 public:
  Triangle(std::int64_t length, double* sums) : length_(length), rows_(kRows, length), sums_(sums) {}

  void begin(double* sums) {
    finish();
    sums_ = sums;
  }
  // Returns false if the row is skipped.
  bool add(const float* row) {
    constexpr std::int64_t kWidth = kernels::RowPanels::kWidth;
    if (!std::all_of(row, row + length_, [](float one) { return std::isfinite(one); })) return false;
    for (std::int64_t i = 0; i < length_; i += kWidth) {
      double* const to = rows_.at(held_, i);
      const std::int64_t count = std::min(kWidth, length_ - i);
      for (std::int64_t k = 0; k < count; ++k) to[k] = static_cast<double>(row[i + k]);
    }
    if (++held_ == kRows) flush();
    return true;
  }
  void finish() {
    if (held_ == 0) return;
    for (; held_ < kRows; ++held_) {
      for (std::int64_t i = 0; i < length_; ++i) *rows_.at(held_, i) = 0;
    }
    flush();
  }

 private:
  static constexpr std::int64_t kRows = 32;

  void flush() {
    kernels::add_products(rows_, rows_, 0, length_, {sums_, length_, true});
    held_ = 0;
  }

  std::int64_t length_, held_ = 0;
  kernels::RowPanels rows_;
  double* sums_;
};

}  // namespace

double SecondMoment::at(std::int64_t group, std::int64_t i, std::int64_t k) const {
  const std::int64_t low = std::min(i, k), high = std::max(i, k);
  return sums_[static_cast<std::size_t>(group * triangle() + low * length_ - low * (low - 1) / 2 + high -
                                        low)];
}

Result<void> SecondMoment::merge(const SecondMoment& other) {
  if (other.length_ == 0) return {};
  if (length_ == 0) {
    *this = other;
    return {};
  }
  if (length_ != other.length_ || groups_ != other.groups_)
    return invalid_argument(fmt::format("rows of {} numbers in {} groups, and of {} in {}", length_, groups_,
                                        other.length_, other.groups_));
  TRY(sums_.merge(other.sums_));
  rows_ += other.rows_;
  return {};
}

Result<void> SecondMoment::see(const Look& look, Workbench& bench, std::mutex& guard) {
  const Rows rows = TRY(rows_of(view_, look.array.dims()));
  if (rows.length == 0) return {};
  {
    const std::lock_guard lock(guard);
    if (length_ == 0) {
      const auto half = checked_mul(rows.length, rows.length / 2 + 1);  // at least the size of a triangle
      const auto entries = half ? checked_mul(*half, rows.groups) : std::nullopt;
      const std::string what = fmt::format("second-moment: XᵀX of {} channels{}", rows.length,
                                           rows.groups > 1 ? fmt::format(" in {} groups", rows.groups) : "");
      if (!entries || *entries > kMostSums)
        return error_at(Code::limit_exceeded, {}, fmt::format("{} is too large", what),
                        fmt::format("up to {} numbers", kMostSums));
      TRY(take_memory(bench, ExactSums::bytes(*entries), what));
      length_ = rows.length;
      groups_ = rows.groups;
      sums_ = ExactSums(static_cast<std::size_t>(groups_ * triangle()));
    }
    if (length_ != rows.length || groups_ != rows.groups)
      return error_at(
          Code::invalid_data, {},
          fmt::format("second-moment: rows of {} numbers, where they were {} before", rows.length, length_));
  }
  bench.sums.assign(sums_.size(), 0);
  Triangle triangles(length_, bench.sums.data());
  std::int64_t group = 0, kept = 0;
  const auto add = [&](std::int64_t of, const float* row) {
    if (of != group) triangles.begin(bench.sums.data() + of * triangle());
    group = of;
    kept += triangles.add(row) ? 1 : 0;
  };
  TRY(each_row(view_, look, bench, FunctionRef<std::int64_t, const float*>(add)));
  triangles.finish();
  const std::lock_guard lock(guard);
  rows_ += kept / groups_;
  return sums_.add(bench.sums);
}

void SecondMoment::write(JsonMembers& to) const {
  to.emplace_back("rows", std::to_string(rows_));
  if (length_ == 0) return;
  to.emplace_back("groups", std::to_string(groups_));
  to.emplace_back("length", std::to_string(length_));
  sums_.write(to);
}

Result<void> SecondMoment::read(const JsonTree& from, const Extent&) {
  rows_ = TRY(integer(from, "rows"));
  if (!from.find("length")) return {};
  groups_ = TRY(integer(from, "groups"));
  length_ = TRY(integer(from, "length"));
  constexpr std::int64_t kMost = 1 << 20;
  if (groups_ < 1 || length_ < 1 || groups_ > kMost || length_ > kMost || groups_ * length_ > kMost * 8 ||
      groups_ * triangle() > kMostSums)
    return damaged("'length' and 'groups' cannot be");
  return sums_.read(from, groups_ * triangle());
}

Collector::Numbers SecondMoment::numbers() const {
  Numbers all;
  if (groups_ > 1) all.dims.push_back(groups_);
  all.dims.insert(all.dims.end(), 2, length_);
  all.values.reserve(static_cast<std::size_t>(groups_ * length_ * length_));
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t i = 0; i < length_; ++i) {
      for (std::int64_t k = 0; k < length_; ++k) all.values.push_back(at(group, i, k));
    }
  }
  return all;
}

std::span<const CollectorDescriptor> second_moment_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "second-moment",
       .summary = "XᵀX of the inputs of layers with weights: sums of pairwise products",
       .make = [](const View& view) -> std::unique_ptr<Collector> {
         return std::make_unique<SecondMoment>(view);
       },
       .by_rows = true}};
  return all;
}

}  // namespace anybit::calibrate
