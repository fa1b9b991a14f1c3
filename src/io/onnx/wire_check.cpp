#include "io/onnx/wire_check.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/onnx/wire_schema.hpp"

namespace anybit::onnx {
namespace {

enum WireType : std::uint32_t {
  varint = 0,
  fixed64 = 1,
  block = 2,
  group_start = 3,
  group_end = 4,
  fixed32 = 5
};

// Protobuf keeps sizes in an int, minus a few bytes of slack.
constexpr std::size_t kLargestBytes = std::numeric_limits<std::int32_t>::max() - 64;
constexpr std::uint32_t kTensorSegment = 3;
constexpr std::size_t kUsualDepth = 16;

struct Frame {
  Message message;
  std::size_t begin, end;
  std::size_t record;  // start of the current record
};

class Walker {
 public:
  Walker(std::span<const std::byte> bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {
    frames_.reserve(kUsualDepth);
  }

  Result<void> run() {
    if (!push(Message::model, bytes_.size())) return std::move(error_);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (position_ == frame.end) {
        pop();
        continue;
      }
      frame.record = position_;
      if (!record(frame)) return std::move(error_);
    }
    return {};
  }

 private:
  std::uint8_t byte(std::size_t at) const { return static_cast<std::uint8_t>(bytes_[at]); }

  // Errors are cold and not inlined, to keep the hot path small.
  [[gnu::cold]] bool fail(Code code, std::string message, std::string hint = {}) {
    error_ = error_at(code, place(), std::move(message), std::move(hint));
    return false;
  }

  [[gnu::cold]] [[gnu::noinline]] bool malformed(std::string_view message) {
    return fail(Code::malformed, std::string(message));
  }

  [[gnu::cold]] bool too_many(std::int64_t limit, std::string_view what) {
    return fail(Code::limit_exceeded, fmt::format("more than {} {}", limit, what),
                "raise the limit if the file is what you expect");
  }

  [[gnu::cold]] bool too_long(std::uint64_t length, std::size_t left) {
    return malformed(fmt::format("a record of {} bytes, but its message ends after {}", length, left));
  }

  bool push(Message message, std::size_t end) {
    if (++records_ > limits_.records) return too_many(limits_.records, "messages and strings");
    if (message == Message::node && ++nodes_ > limits_.nodes) return too_many(limits_.nodes, "nodes");
    if (message == Message::graph && ++graphs_ > limits_.depth)
      return too_many(limits_.depth, "levels of nested graphs");
    if (message == Message::type && ++types_ > limits_.depth)
      return too_many(limits_.depth, "levels of nested types");
    frames_.push_back({message, position_, end, position_});
    return true;
  }

  void pop() {
    if (frames_.back().message == Message::graph) --graphs_;
    if (frames_.back().message == Message::type) --types_;
    frames_.pop_back();
  }

  // At most `width` bytes: 10 for a value, 5 for a tag or a length, as in protobuf. Nearly all have one byte.
  bool read_varint(std::size_t end, std::size_t width, std::uint64_t& value) {
    if (position_ != end && byte(position_) < 0x80) {
      value = byte(position_++);
      return true;
    }
    return read_long_varint(end, width, value);
  }

  [[gnu::noinline]] bool read_long_varint(std::size_t end, std::size_t width, std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (position_ == end) return malformed("a number is cut off by the end of its message");
      const std::uint8_t part = byte(position_++);
      value |= static_cast<std::uint64_t>(part & 0x7f) << (7 * i);
      if (part < 0x80) return true;
    }
    return malformed(fmt::format("a number takes more than {} bytes", width));
  }

  bool read_tag(std::size_t end, std::uint32_t& number, std::uint32_t& wire_type) {
    std::uint64_t tag = 0;
    if (!read_varint(end, 5, tag)) return false;
    if (tag > std::numeric_limits<std::uint32_t>::max()) return malformed("a field number beyond 2^29");
    number = static_cast<std::uint32_t>(tag >> 3);
    wire_type = static_cast<std::uint32_t>(tag & 7);
    return number != 0 || malformed("field number 0");
  }

  bool read_length(std::size_t end, std::size_t& length) {
    std::uint64_t value = 0;
    if (!read_varint(end, 5, value)) return false;
    if (value > end - position_) return too_long(value, end - position_);
    length = static_cast<std::size_t>(value);
    return true;
  }

  bool skip(std::size_t end, std::size_t width) {
    if (end - position_ < width) return malformed("a number is cut off by the end of its message");
    position_ += width;
    return true;
  }

  bool record(const Frame& frame) {
    std::uint32_t number = 0, wire_type = 0;
    if (!read_tag(frame.end, number, wire_type)) return false;
    if (wire_type == block) return block_record(frame, number);
    return plain_record(frame.end, number, wire_type);
  }

  bool plain_record(std::size_t end, std::uint32_t number, std::uint32_t wire_type) {
    std::uint64_t ignored = 0;
    switch (wire_type) {
      case varint:
        return read_varint(end, 10, ignored);
      case fixed64:
        return skip(end, 8);
      case fixed32:
        return skip(end, 4);
      case group_start:
        return skip_group(end, number);
      case group_end:
        return malformed("the end of a group that never started");
      default:
        return malformed(fmt::format("wire type {} does not exist", wire_type));
    }
  }

  bool block_record(const Frame& frame, std::uint32_t number) {
    std::size_t length = 0;
    if (!read_length(frame.end, length)) return false;
    const Field& field = field_of(frame.message, number);
    const std::size_t end = position_ + length;
    switch (field.payload) {
      case Payload::message:
        return push(field.child, end);
      case Payload::text:
        if (++records_ > limits_.records) return too_many(limits_.records, "messages and strings");
        break;
      case Payload::packed_varints:
        if (!check_packed_varints(position_, end)) return false;
        break;
      case Payload::packed_fixed32:
        if (length % 4 != 0) return malformed("the numbers do not fill their record");
        break;
      case Payload::packed_fixed64:
        if (length % 8 != 0) return malformed("the numbers do not fill their record");
        break;
      case Payload::number:
        break;
      case Payload::unknown:
        if (frame.message == Message::tensor && number == kTensorSegment) {
          return fail(Code::unsupported, "a tensor in segments", "store the tensor in one piece");
        }
    }
    position_ = end;
    return true;
  }

  bool check_packed_varints(std::size_t begin, std::size_t end) {
    int continued = 0;
    for (std::size_t i = begin; i < end; ++i) {
      continued = byte(i) >= 0x80 ? continued + 1 : 0;
      if (continued == 10) return malformed("a number takes more than 10 bytes");
    }
    return continued == 0 || malformed("a number is cut off by the end of its record");
  }

  // Skips a group, which is always an unknown field: ONNX has none.
  bool skip_group(std::size_t end, std::uint32_t number) {
    std::vector<std::uint32_t> open{number};
    while (!open.empty()) {
      if (position_ == end) return malformed("a group is cut off by the end of its message");
      std::uint32_t inner = 0, wire_type = 0;
      if (!read_tag(end, inner, wire_type)) return false;
      if (wire_type == group_start) {
        open.push_back(inner);
        if (static_cast<std::int64_t>(open.size()) > limits_.depth) {
          return too_many(limits_.depth, "levels of nested groups");
        }
      } else if (wire_type == group_end) {
        if (inner != open.back()) {
          return malformed(fmt::format("group {} ends where group {} should", inner, open.back()));
        }
        open.pop_back();
      } else if (wire_type == block) {
        std::size_t length = 0;
        if (!read_length(end, length)) return false;
        position_ += length;
      } else if (!plain_record(end, inner, wire_type)) {
        return false;
      }
    }
    return true;
  }

  // "byte 1234 (graph > node 12 > attribute 3)". The indices of records are counted here, only for an error.
  std::string place() {
    const std::size_t at = frames_.empty() ? 0 : frames_.back().record;
    std::string path;
    std::vector<Frame> frames = std::move(frames_);
    frames_.clear();  // no place in errors while counting: the records before this one were fine
    for (const Frame& frame : frames) {
      const std::string step = step_of(frame);
      if (step.empty()) continue;
      path += path.empty() ? step : " > " + step;
    }
    return path.empty() ? fmt::format("byte {}", at) : fmt::format("byte {} ({})", at, path);
  }

  std::string step_of(const Frame& frame) {
    const std::uint32_t number = number_at(frame.record, frame.end);
    const Field& field = field_of(frame.message, number);
    if (field.payload == Payload::unknown) return number == 0 ? "" : fmt::format("unknown field {}", number);
    if (!field.repeated) return std::string(field.name);
    std::size_t index = 0;
    position_ = frame.begin;
    while (position_ < frame.record) {
      std::uint32_t other = 0, wire_type = 0;
      if (!read_tag(frame.end, other, wire_type)) break;
      index += other == number && wire_type == block;
      std::size_t length = 0;
      if (wire_type != block) {
        if (!plain_record(frame.end, other, wire_type)) break;
      } else if (read_length(frame.end, length)) {
        position_ += length;
      } else {
        break;
      }
    }
    return fmt::format("{} {}", field.name, index);
  }

  // The field number of the record at `at`; 0 if it cannot be read.
  std::uint32_t number_at(std::size_t at, std::size_t end) const {
    std::uint64_t tag = 0;
    for (std::size_t i = 0; i < 5 && at + i < end; ++i) {
      tag |= static_cast<std::uint64_t>(byte(at + i) & 0x7f) << (7 * i);
      if (byte(at + i) < 0x80) return static_cast<std::uint32_t>(tag >> 3);
    }
    return 0;
  }

  std::span<const std::byte> bytes_;
  const Limits& limits_;
  std::size_t position_ = 0;
  std::vector<Frame> frames_;
  std::int64_t records_ = 0, nodes_ = 0, graphs_ = 0, types_ = 0;
  Error error_;
};

}  // namespace

Result<void> check_wire(std::span<const std::byte> bytes, const Limits& limits) {
  if (bytes.empty()) return error_at(Code::malformed, "byte 0", "the file is empty");
  if (bytes.size() > kLargestBytes) {
    return error_at(Code::malformed, "byte 0",
                    fmt::format("{} bytes, but no ONNX file can be larger than 2 GB", bytes.size()),
                    "keep the weights in external data");
  }
  Result<void> result = Walker(bytes, limits).run();
  if (result.ok() || result.error().code != Code::malformed) return result;
  Error error = std::move(result).error();
  error.hint = "the file is damaged, or is not an ONNX model";
  return error;
}

int protobuf_recursion_limit(const Limits& limits) {
  // A nested graph takes three messages (graph, node, attribute), a nested type two, a group one; kAround
  // covers the messages around and below them.
  constexpr std::int64_t kEach = 3 + 2 + 1, kAround = 16;
  const std::int64_t depth =
      std::clamp<std::int64_t>(limits.depth, 0, std::numeric_limits<int>::max() / kEach - kAround);
  return static_cast<int>(depth * kEach + kAround);
}

}  // namespace anybit::onnx
