#include "train/sample_store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::train {
namespace {

using ops::Array;

Result<void> check_sample(const Sample& sample, std::int64_t number) {
  for (const auto& [name, value] : sample) {
    const auto wrong = [&](Code code, std::string message, std::string hint) {
      return error_at(code, fmt::format("sample {}, input '{}'", number, shown(name)), std::move(message),
                      std::move(hint));
    };
    if (!value.is_array() || value.array.type() == graph::ElementType::string)
      return wrong(Code::unsupported, "training takes numeric tensors only", "a model with such inputs");
    if (value.array.type() != graph::ElementType::float32) continue;
    for (const float x : value.array.elements<float>()) {
      if (!std::isfinite(x))
        return wrong(Code::invalid_data, std::isnan(x) ? "it contains NaN" : "it contains infinity",
                     "samples with finite values only");
    }
  }
  return {};
}

std::string form_of(const Sample& sample) {
  std::string text;
  for (const auto& [name, value] : sample) text += fmt::format("{}: {}\n", name, ops::to_string(value.array));
  return text;
}

Error spool_error(std::string_view action) {
  return system_error(action, "the temporary file of the training samples", errno);
}

}  // namespace

struct SampleStore::File {
  std::FILE* stream = nullptr;
  std::uint64_t end = 0;
  ~File() {
    if (stream) std::fclose(stream);
  }
  Result<void> append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto done = ::pwrite(fileno(stream), bytes.data(), bytes.size(), static_cast<off_t>(end));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return spool_error("cannot write");
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      end += static_cast<std::uint64_t>(done);
    }
    return {};
  }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto done = ::pread(fileno(stream), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return spool_error("cannot read");
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      at += static_cast<std::uint64_t>(done);
    }
    return {};
  }
};

SampleStore::SampleStore(std::int64_t most) : most_(most), memory_(ops::Memory::make()) {}
SampleStore::~SampleStore() = default;
SampleStore::SampleStore(SampleStore&&) noexcept = default;
SampleStore& SampleStore::operator=(SampleStore&&) noexcept = default;

Result<void> SampleStore::add(const Sample& sample) {
  TRY(check_sample(sample, size()));
  Kept kept;
  const std::string form = form_of(sample);
  const auto [known, fresh] = numbers_.try_emplace(form, forms_.size());
  if (fresh) {
    forms_.push_back(form);
    Sample& shape = shapes_.emplace_back();
    for (const auto& [name, value] : sample)
      shape.emplace(name, Array::over(value.array.type(), value.array.dims(), nullptr));
  }
  kept.form = known->second;
  std::int64_t bytes = 0;
  for (const auto& [name, value] : sample) bytes += static_cast<std::int64_t>(value.array.byte_count());
  if (used_ + bytes <= most_) {
    used_ += bytes;
    for (const auto& [name, value] : sample) kept.sample.emplace(name, TRY(value.array.copy(*memory_)));
  } else {
    TRY(spool(sample, kept));
  }
  kept_.push_back(std::move(kept));
  return {};
}

Result<void> SampleStore::spool(const Sample& sample, Kept& kept) {
  if (!file_) {
    auto file = std::make_unique<File>();
    file->stream = std::tmpfile();
    if (!file->stream) return spool_error("cannot create");
    file_ = std::move(file);
  }
  kept.at = file_->end;
  for (const auto& [name, value] : sample)
    TRY(file_->append({value.array.bytes(), value.array.byte_count()}));
  return {};
}

Result<Sample> SampleStore::get(std::int64_t i) const {
  const Kept& kept = kept_[static_cast<std::size_t>(i)];
  if (!kept.sample.empty()) return kept.sample;
  Sample sample;
  std::uint64_t at = kept.at;
  for (const auto& [name, shape] : shapes_[kept.form]) {
    Array array = TRY(Array::make(*memory_, shape.array.type(), shape.array.dims()));
    TRY(file_->read(at, {array.mutable_bytes(), array.byte_count()}));
    at += array.byte_count();
    sample.emplace(name, std::move(array));
  }
  return sample;
}

}  // namespace anybit::train
