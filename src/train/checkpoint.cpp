// Layout: a line of text that names the format, then fields in fixed order, little-endian; at the end the
// SHA-256 of all before it.
#include "train/checkpoint.hpp"

#include <cstring>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"

namespace anybit::train {
namespace {

using ops::Array;

constexpr std::string_view kMagic = "anybit training state 1\n";

class StateWriter {
 public:
  void bytes(std::span<const std::byte> bytes) { data_.insert(data_.end(), bytes.begin(), bytes.end()); }
  template <class T>
  void number(T value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void text(std::string_view text) {
    number(static_cast<std::uint64_t>(text.size()));
    bytes(std::as_bytes(std::span(text)));
  }
  void point(const TrainingReport::Point& one) {
    number(one.step);
    number(one.loss);
    number(one.agreement);
  }
  void values(const Values& values) {
    number(static_cast<std::uint64_t>(values.size()));
    for (const auto& [name, array] : values) {
      text(name);
      number(static_cast<std::uint64_t>(array.rank()));
      for (std::size_t i = 0; i < array.rank(); ++i) number(array.dim(i));
      bytes({array.bytes(), array.byte_count()});
    }
  }
  const std::vector<std::byte>& data() const { return data_; }

 private:
  std::vector<std::byte> data_;
};

class StateReader {
 public:
  StateReader(std::span<const std::byte> data, ops::Memory& memory) : data_(data), memory_(memory) {}
  bool ok() const { return ok_; }
  std::span<const std::byte> bytes(std::size_t count) {
    if (count > data_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = data_.first(count);
    data_ = data_.subspan(count);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    if (const auto from = bytes(sizeof(T)); ok_) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }
  std::string text() {
    const auto from = bytes(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  TrainingReport::Point point() {
    TrainingReport::Point one;
    one.step = number<std::int64_t>();
    one.loss = number<double>();
    one.agreement = number<double>();
    return one;
  }
  Result<Values> values() {
    Values values;
    for (auto left = number<std::uint64_t>(); ok_ && left > 0; --left) {
      std::string name = text();
      ops::Dims dims;
      const auto rank = number<std::uint64_t>();
      for (std::size_t i = 0; ok_ && i < rank && i < ops::Dims::kCapacity; ++i)
        dims.push_back(number<std::int64_t>());
      std::int64_t count = 4;
      for (const std::int64_t dim : dims) count *= dim;
      const auto from = bytes(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
      if (!ok_) break;
      Array array = TRY(Array::make(memory_, graph::ElementType::float32, dims));
      if (!from.empty()) std::memcpy(array.mutable_bytes(), from.data(), from.size());
      values.emplace(std::move(name), std::move(array));
    }
    return values;
  }

 private:
  std::span<const std::byte> data_;
  ops::Memory& memory_;
  bool ok_ = true;
};

Error damaged(const std::string& path) {
  return error_at(Code::malformed, path, "this is not an intact training state", "train without --resume");
}

}  // namespace

Result<void> save_checkpoint(const std::string& path, const std::string& key, const Checkpoint& state) {
  StateWriter write;
  write.bytes(std::as_bytes(std::span(kMagic)));
  write.text(key);
  for (const std::int64_t one :
       {state.step, state.steps, state.safe_step, state.pending_steps, state.report.restarts})
    write.number(one);
  for (const double one : {state.rate_factor, state.smooth, state.best_smooth, state.first_smooth,
                           state.report.loss_before, state.report.agreement_before, state.report.seconds})
    write.number(one);
  write.point(state.pending);
  write.number(static_cast<std::uint64_t>(state.report.curve.size()));
  for (const auto& one : state.report.curve) write.point(one);
  for (const Values* values : {&state.values, &state.safe, &state.averages}) write.values(*values);
  Sha256 hash;
  hash.update(write.data());
  const Sha256::Digest digest = hash.digest();
  const auto saved = [&]() -> Result<void> {
    AtomicFile file = TRY(AtomicFile::create(path));
    TRY(file.write(write.data()));
    TRY(file.write(digest));
    return file.commit();
  }();
  if (!saved.ok()) {
    Error error = saved.error();
    error.message = fmt::format("the state of training cannot be saved: {}", error.message);
    return error;
  }
  return {};
}

Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path, const std::string& key,
                                                  ops::Memory& memory) {
  auto opened = MappedFile::open(path);
  if (!opened.ok() && opened.error().code == Code::not_found) return std::optional<Checkpoint>();
  const auto file = TRY(std::move(opened));
  const std::string_view all = file->bytes().text();
  constexpr std::size_t kDigest = sizeof(Sha256::Digest);
  if (all.size() < kMagic.size() + kDigest || !all.starts_with(kMagic)) return damaged(path);
  const auto data = std::as_bytes(std::span(all)).first(all.size() - kDigest);
  Sha256 hash;
  hash.update(data);
  if (std::memcmp(hash.digest().data(), data.data() + data.size(), kDigest) != 0) return damaged(path);
  StateReader read(data.subspan(kMagic.size()), memory);
  if (read.text() != key)
    return error_at(Code::invalid_argument, path,
                    "this training state belongs to another model, recipe, set of samples or set of options",
                    "the same call as before, or train without --resume");
  Checkpoint state;
  for (std::int64_t* one :
       {&state.step, &state.steps, &state.safe_step, &state.pending_steps, &state.report.restarts})
    *one = read.number<std::int64_t>();
  for (double* one : {&state.rate_factor, &state.smooth, &state.best_smooth, &state.first_smooth,
                      &state.report.loss_before, &state.report.agreement_before, &state.report.seconds})
    *one = read.number<double>();
  state.pending = read.point();
  for (auto left = read.number<std::uint64_t>(); read.ok() && left > 0; --left)
    state.report.curve.push_back(read.point());
  for (Values* values : {&state.values, &state.safe, &state.averages}) *values = TRY(read.values());
  TRY(file->intact());
  if (!read.ok()) return damaged(path);
  return std::optional(std::move(state));
}

}  // namespace anybit::train
