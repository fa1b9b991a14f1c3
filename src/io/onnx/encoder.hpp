// Writes protobuf's wire format directly from a model. Two passes over the same code (encode.cpp): a Sizer
// computes the length of every message, an Emitter writes. So nothing is held in memory twice, and large data
// is written without a copy. The format: https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::onnx {

constexpr std::uint64_t varint_size(std::uint64_t value) {
  return (static_cast<std::uint64_t>(std::bit_width(value | 1)) * 9 + 64) / 64;
}

enum class WireType : std::uint32_t { varint = 0, length = 2, fixed32 = 5 };

constexpr std::uint64_t tag(int field, WireType type) {
  return static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type);
}

class Sizer {
 public:
  Sizer() { lengths_.reserve(64); }
  void varint(int field, std::uint64_t value) { total_ += varint_size(tag(field, {})) + varint_size(value); }
  void fixed32(int field, float) { total_ += varint_size(tag(field, {})) + 4; }
  void bytes(int field, std::span<const std::byte> data) { open(field, data.size()); }
  void raw(std::string_view serialized) { total_ += serialized.size(); }

  template <class Body>
  void message(int field, const Body& body) {
    const std::size_t slot = lengths_.size();
    lengths_.push_back(0);
    const std::uint64_t before = total_;
    body();
    lengths_[slot] = total_ - before;
    total_ += varint_size(tag(field, {})) + varint_size(lengths_[slot]);
  }
  // value(i) for 0 ≤ i < count, in one length-delimited field.
  template <class Value>
  void packed_varints(int field, std::size_t count, const Value& value) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < count; ++i) length += varint_size(value(i));
    lengths_.push_back(length);
    open(field, length);
  }

  std::uint64_t total() const { return total_; }
  // The lengths of messages and packed fields, in the order of their beginnings.
  std::vector<std::uint64_t> take_lengths() && { return std::move(lengths_); }

 private:
  void open(int field, std::uint64_t length) {
    total_ += varint_size(tag(field, {})) + varint_size(length) + length;
  }
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> lengths_;
};

using Sink = std::function<Result<void>(std::span<const std::byte>)>;

class Emitter {
 public:
  Emitter(const std::vector<std::uint64_t>& lengths, const Sink& sink) : lengths_(lengths), sink_(sink) {}

  void varint(int field, std::uint64_t value) {
    put(tag(field, WireType::varint));
    put(value);
  }
  void fixed32(int field, float value) {
    put(tag(field, WireType::fixed32));
    append(std::as_bytes(std::span(&value, 1)));
  }
  void bytes(int field, std::span<const std::byte> data) {
    put(tag(field, WireType::length));
    put(data.size());
    append(data);
  }
  void raw(std::string_view serialized) { append(std::as_bytes(std::span(serialized))); }

  template <class Body>
  void message(int field, const Body& body) {
    put(tag(field, WireType::length));
    put(lengths_[next_++]);
    body();
  }
  template <class Value>
  void packed_varints(int field, std::size_t count, const Value& value) {
    put(tag(field, WireType::length));
    put(lengths_[next_++]);
    for (std::size_t i = 0; i < count; ++i) put(value(i));
  }

  // Flushes the buffer; returns the first error of the sink, if there was one.
  Result<void> finish() {
    flush();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kCapacity = 16 * 1024, kLongestVarint = 10;

  void put(std::uint64_t value) {
    if (used_ + kLongestVarint > kCapacity) flush();
    while (value >= 0x80) {
      buffer_[used_++] = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    buffer_[used_++] = static_cast<std::byte>(value);
  }
  void append(std::span<const std::byte> data) {
    if (data.empty()) return;
    if (data.size() > kCapacity - used_) flush();
    if (data.size() > kCapacity) return hand_on(data);
    std::memcpy(buffer_.data() + used_, data.data(), data.size());
    used_ += data.size();
  }
  void flush() {
    if (used_ != 0) hand_on({buffer_.data(), used_});
    used_ = 0;
  }
  void hand_on(std::span<const std::byte> data) {
    if (result_.ok()) result_ = sink_(data);
  }

  const std::vector<std::uint64_t>& lengths_;
  const Sink& sink_;
  std::array<std::byte, kCapacity> buffer_;
  std::size_t used_ = 0;
  std::size_t next_ = 0;
  Result<void> result_;
};

}  // namespace anybit::onnx
