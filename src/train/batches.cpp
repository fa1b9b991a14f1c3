#include "train/batches.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "train/random.hpp"

namespace anybit::train {
namespace {

using ops::Array;
using ops::Dims;

constexpr std::uint64_t kOrder = 1 << 20;  // a stream of random numbers

void shuffle(std::vector<std::int64_t>& list, std::uint64_t seed, std::uint64_t stream) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random_below(random_at(seed, stream, i), i)]);
}

}  // namespace

BatchOrder::BatchOrder(const SampleStore& samples, std::int64_t batch, std::uint64_t seed,
                       std::span<const std::int64_t> left_out)
    : samples_(samples), batch_(std::max<std::int64_t>(batch, 1)), seed_(seed) {
  const std::set<std::int64_t> out(left_out.begin(), left_out.end());
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    if (!out.contains(i)) used_.push_back(i);
  }
}

void BatchOrder::start_epoch() {
  std::vector<std::int64_t> order = used_;
  shuffle(order, seed_, kOrder + epoch_++);
  ready_.clear();
  at_ = 0;
  std::map<std::string_view, std::vector<std::int64_t>> waiting;
  for (const std::int64_t i : order) {
    std::vector<std::int64_t>& list = waiting[samples_.form(i)];
    list.push_back(i);
    if (std::ssize(list) == batch_) ready_.push_back(std::exchange(list, {}));
  }
  // Samples that fill no batch wait for another epoch, unless their form has no more.
  std::map<std::string_view, bool> used;
  for (const auto& one : ready_) used[samples_.form(one.front())] = true;
  for (auto& [form, list] : waiting) {
    if (!list.empty() && !used[form]) ready_.push_back(std::move(list));
  }
}

std::vector<std::int64_t> BatchOrder::next() {
  if (at_ == ready_.size()) start_epoch();
  return ready_[at_++];
}

void BatchOrder::skip(std::int64_t batches) {
  for (std::int64_t i = 0; i < batches; ++i) next();
}

Result<Sample> stacked(const SampleStore& samples, const std::vector<std::int64_t>& which,
                       const Augmentation& change, ops::Memory& memory) {
  std::vector<Sample> parts;
  for (const std::int64_t i : which) parts.push_back(TRY(samples.get(i)));
  for (std::size_t k = 0; k < parts.size(); ++k) TRY(move_images(parts[k], change, which[k], memory));
  if (parts.size() == 1) return std::move(parts[0]);
  Sample all;
  for (const auto& [name, first] : parts[0]) {
    std::vector<const Array*> list;
    for (const Sample& part : parts) list.push_back(&part.at(name).array);
    all.emplace(name, TRY(joined_rows(list, memory)));
  }
  return all;
}

std::int64_t rows_of(const Sample& sample) {
  for (const auto& [name, value] : sample) {
    if (value.array.rank() > 0) return value.array.dim(0);
  }
  return 1;
}

Result<std::vector<Array>> split_rows(const Array& array, const std::vector<std::int64_t>& rows,
                                      ops::Memory& memory) {
  std::vector<Array> parts;
  const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  if (array.rank() == 0 || all == 0 || array.dim(0) % all != 0)
    return error_at(
        Code::unsupported, {},
        fmt::format("{} for {} samples cannot be divided into them", to_string(array), rows.size()));
  const std::int64_t each = array.dim(0) / all;  // rows of the output by row of the input
  const std::byte* from = array.bytes();
  for (const std::int64_t count : rows) {
    Dims dims = array.dims();
    dims[0] = each * count;
    Array& part = parts.emplace_back(TRY(Array::make(memory, array.type(), dims)));
    std::memcpy(part.mutable_bytes(), from, part.byte_count());
    from += part.byte_count();
  }
  return parts;
}

Result<Array> joined_rows(const std::vector<const Array*>& parts, ops::Memory& memory) {
  if (parts[0]->rank() == 0) return *parts[0];
  Dims dims = parts[0]->dims();
  dims[0] = 0;
  for (const Array* part : parts) dims[0] += part->dim(0);
  Array all = TRY(Array::make(memory, parts[0]->type(), dims));
  std::byte* to = all.mutable_bytes();
  for (const Array* part : parts) {
    std::memcpy(to, part->bytes(), part->byte_count());
    to += part->byte_count();
  }
  return all;
}

}  // namespace anybit::train
