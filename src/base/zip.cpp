#include "base/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

constexpr std::uint32_t kLocal = 0x04034B50, kCentral = 0x02014B50, kEnd = 0x06054B50, kEnd64 = 0x06064B50,
                        kLocator64 = 0x07064B50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56;
constexpr std::uint32_t kFull32 = 0xFFFFFFFF;
constexpr std::uint16_t kFull16 = 0xFFFF, kZip64 = 45, kFirstDate = 1 << 5 | 1;  // 1 January 1980
constexpr std::uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;
// The bound of deflate: 258 bytes from two codes of one bit each (RFC 1951). Real data inflate by less.
constexpr std::uint64_t kMostInflation = 1032, kCommonInflation = 64, kFreeInflation = std::uint64_t{1} << 30;

Error malformed(const std::string& why) { return error_at(Code::malformed, {}, "not a .npz file: " + why); }

class Writer {
 public:
  template <class Number>
  Writer& operator<<(Number number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    text_.append(bytes, sizeof number);
    return *this;
  }
  Writer& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Reads a little-endian number; the bounds are already checked.
template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

struct Directory {
  std::uint64_t entries, size, offset;
};

Result<Directory> find_directory(std::span<const std::byte> all) {
  if (all.size() < kEndSize) return malformed("it is too short");
  // A comment of up to 64 KiB may follow.
  const std::size_t lowest = all.size() > kEndSize + kFull16 ? all.size() - kEndSize - kFull16 : 0;
  std::size_t at = all.size() - kEndSize;
  while (number_at<std::uint32_t>(all, at) != kEnd) {
    if (at == lowest) return malformed("it has no directory");
    --at;
  }
  Directory directory{number_at<std::uint16_t>(all, at + 10), number_at<std::uint32_t>(all, at + 12),
                      number_at<std::uint32_t>(all, at + 16)};
  const bool wide = directory.entries == kFull16 || directory.size == kFull32 || directory.offset == kFull32;
  if (wide && at >= kLocator64Size && number_at<std::uint32_t>(all, at - kLocator64Size) == kLocator64) {
    const auto where = number_at<std::uint64_t>(all, at - kLocator64Size + 8);
    if (where > all.size() || all.size() - where < kEnd64Size ||
        number_at<std::uint32_t>(all, static_cast<std::size_t>(where)) != kEnd64) {
      return malformed("its directory is damaged");
    }
    const auto end = all.subspan(static_cast<std::size_t>(where));
    directory = {number_at<std::uint64_t>(end, 32), number_at<std::uint64_t>(end, 40),
                 number_at<std::uint64_t>(end, 48)};
  }
  if (directory.offset > all.size() || directory.size > all.size() - directory.offset) {
    return malformed("its directory is damaged");
  }
  return directory;
}

struct Central {
  std::uint16_t flags, method;
  std::uint32_t checksum;
  std::uint64_t stored, size, offset;
};

// Sizes that do not fit 32 bits are in an extra field, in this order, each only if needed.
Result<void> widen(std::span<const std::byte> extra, Central& entry) {
  for (std::size_t at = 0; extra.size() - at >= 4;) {
    const auto id = number_at<std::uint16_t>(extra, at), length = number_at<std::uint16_t>(extra, at + 2);
    at += 4;
    if (length > extra.size() - at) return malformed("an entry's fields are damaged");
    if (id == 1) {
      std::size_t field = at;
      for (std::uint64_t* wide : {&entry.size, &entry.stored, &entry.offset}) {
        if (*wide != kFull32) continue;
        if (field + 8 > at + length) return malformed("an entry's sizes are damaged");
        *wide = number_at<std::uint64_t>(extra, field);
        field += 8;
      }
    }
    at += length;
  }
  return {};
}

// `to` has the size that the entry declares; false if the data differ.
bool inflate_all(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();  // no zlib header
  int state = Z_OK;
  std::byte nothing{};  // zlib needs an address even for zero bytes
  std::size_t read = 0, written = 0;
  while (state == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(from.size() - read, kMost));
    stream.next_out = reinterpret_cast<Bytef*>(to.empty() ? &nothing : to.data() + written);
    stream.avail_out = static_cast<uInt>(std::min(to.size() - written, kMost));
    const uInt in = stream.avail_in, out = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END && read == from.size() && written == to.size();
}

Result<Bytes> data_of(const Bytes& archive, const std::string& name, const Central& entry) {
  const auto all = archive.span();
  if ((entry.flags & kEncrypted) != 0 || (entry.method != kStored && entry.method != kDeflated)) {
    return error_at(
        Code::unsupported, fmt::format("entry '{}'", shown(name)),
        (entry.flags & kEncrypted) != 0 ? "it is encrypted" : "its compression method is not supported",
        "save it with numpy.savez or numpy.savez_compressed");
  }
  const bool deflated = entry.method == kDeflated;
  if ((!deflated && entry.stored != entry.size) || entry.offset > all.size() ||
      all.size() - entry.offset < kLocalSize) {
    return malformed(fmt::format("entry '{}' is damaged", shown(name)));
  }
  const auto local = all.subspan(static_cast<std::size_t>(entry.offset));
  const std::size_t before =
      kLocalSize + number_at<std::uint16_t>(local, 26) + number_at<std::uint16_t>(local, 28);
  if (number_at<std::uint32_t>(local, 0) != kLocal || local.size() < before ||
      local.size() - before < entry.stored) {
    return malformed(fmt::format("entry '{}' is damaged", shown(name)));
  }
  Bytes data =
      archive.part(static_cast<std::size_t>(entry.offset) + before, static_cast<std::size_t>(entry.stored));
  if (deflated) {
    if (entry.size / kMostInflation > entry.stored)
      return malformed(fmt::format("entry '{}' claims more bytes than it can hold", shown(name)));
    std::vector<std::byte> inflated(static_cast<std::size_t>(entry.size));
    if (!inflate_all(data.span(), inflated))
      return malformed(fmt::format("the compressed data of entry '{}' are damaged", shown(name)));
    data = Bytes::own(std::move(inflated));
  }
  if (crc32(data.span()) != entry.checksum) {
    return malformed(fmt::format("entry '{}' does not have its checksum", shown(name)));
  }
  return data;
}

std::uint32_t narrow(std::uint64_t number) {
  return number >= kFull32 ? kFull32 : static_cast<std::uint32_t>(number);
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // zlib treats a null pointer as a reset
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<std::vector<ZipEntry>> read_zip(const Bytes& archive) {
  const Directory directory = TRY(find_directory(archive.span()));
  auto rest = archive.span().subspan(static_cast<std::size_t>(directory.offset),
                                     static_cast<std::size_t>(directory.size));
  std::vector<ZipEntry> entries;
  std::uint64_t stored = 0, inflated = 0;
  const std::uint64_t most = std::max(kFreeInflation, kCommonInflation * archive.size());
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kCentralSize || number_at<std::uint32_t>(rest, 0) != kCentral) {
      return malformed("its directory is damaged");
    }
    const std::size_t name = number_at<std::uint16_t>(rest, 28), extra = number_at<std::uint16_t>(rest, 30),
                      comment = number_at<std::uint16_t>(rest, 32);
    if (rest.size() - kCentralSize < name + extra + comment) return malformed("its directory is damaged");
    Central entry{.flags = number_at<std::uint16_t>(rest, 8),
                  .method = number_at<std::uint16_t>(rest, 10),
                  .checksum = number_at<std::uint32_t>(rest, 16),
                  .stored = number_at<std::uint32_t>(rest, 20),
                  .size = number_at<std::uint32_t>(rest, 24),
                  .offset = number_at<std::uint32_t>(rest, 42)};
    const std::string label(reinterpret_cast<const char*>(rest.data() + kCentralSize), name);
    TRY(widen(rest.subspan(kCentralSize + name, extra), entry));
    // Overlapping entries would let a small file cost unbounded time; so would inflated ones.
    if (entry.stored > archive.size() - stored) return malformed("its entries overlap");
    if (entry.method == kDeflated && entry.size > most - inflated) {
      return error_at(Code::limit_exceeded, {},
                      fmt::format("its entries become more than {} MiB", most >> 20),
                      "save it with numpy.savez");
    }
    stored += entry.stored;
    if (entry.method == kDeflated) inflated += entry.size;
    const Bytes data = TRY(data_of(archive, label, entry));
    entries.push_back({label, data});
    rest = rest.subspan(kCentralSize + name + extra + comment);
  }
  return entries;
}

Result<void> ZipWriter::add(const std::string& name, std::span<const Bytes> parts) {
  if (name.size() > std::numeric_limits<std::uint16_t>::max()) return invalid_argument("a name is too long");
  Written entry{name, 0, file_.position(), 0};
  for (const Bytes& part : parts) {
    entry.size += part.size();
    entry.checksum = crc32(part.span(), entry.checksum);
  }
  // Always ZIP64 sizes, as NumPy writes them.
  Writer local;
  local << kLocal << kZip64 << std::uint16_t{0} << std::uint16_t{0} << std::uint16_t{0} << kFirstDate
        << entry.checksum << kFull32 << kFull32 << static_cast<std::uint16_t>(name.size())
        << std::uint16_t{20};
  local.raw(name) << std::uint16_t{1} << std::uint16_t{16} << entry.size << entry.size;
  TRY(file_.write(local.text()));
  for (const Bytes& part : parts) TRY(file_.write(part.span()));
  entries_.push_back(std::move(entry));
  return {};
}

Result<void> ZipWriter::finish() {
  const std::uint64_t offset = file_.position();
  for (const Written& entry : entries_) {
    Writer extra;
    if (entry.size >= kFull32) extra << entry.size << entry.size;
    if (entry.offset >= kFull32) extra << entry.offset;
    const auto extra_size = static_cast<std::uint16_t>(extra.text().empty() ? 0 : extra.text().size() + 4);
    Writer central;
    central << kCentral << kZip64 << kZip64 << std::uint16_t{0} << std::uint16_t{0} << std::uint16_t{0}
            << kFirstDate << entry.checksum << narrow(entry.size) << narrow(entry.size)
            << static_cast<std::uint16_t>(entry.name.size()) << extra_size << std::uint16_t{0}
            << std::uint16_t{0} << std::uint16_t{0} << std::uint32_t{0} << narrow(entry.offset);
    central.raw(entry.name);
    if (extra_size > 0) {
      central << std::uint16_t{1} << static_cast<std::uint16_t>(extra.text().size());
      central.raw(extra.text());
    }
    TRY(file_.write(central.text()));
  }
  const std::uint64_t size = file_.position() - offset, end = file_.position(), count = entries_.size();
  Writer tail;
  const bool wide = count >= kFull16 || size >= kFull32 || offset >= kFull32;
  if (wide) {
    tail << kEnd64 << std::uint64_t{kEnd64Size - 12} << kZip64 << kZip64 << std::uint32_t{0}
         << std::uint32_t{0} << count << count << size << offset;
    tail << kLocator64 << std::uint32_t{0} << end << std::uint32_t{1};
  }
  const auto short_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, kFull16));
  tail << kEnd << std::uint16_t{0} << std::uint16_t{0} << short_count << short_count << narrow(size)
       << narrow(offset) << std::uint16_t{0};
  return file_.write(tail.text());
}

}  // namespace anybit
