// .npy and .npz files: reads NumPy's files, rejects damaged ones. tests/e2e compares with NumPy itself.
#include "base/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "base/zip.hpp"
#include "unit/base/scratch.hpp"

namespace anybit {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<std::int64_t>;

std::string npy(std::string header, std::string_view data, char version = 1) {
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1) text += std::string(2, '\0');
  return text + header + std::string(data);
}

std::string header(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }";
}

Result<Array> parse(std::string text) { return parse_npy(Bytes::own(std::move(text))); }

std::vector<float> floats(std::string text) {
  const auto array = parse(std::move(text));
  EXPECT_TRUE(array.ok()) << array.error().text();
  return array.ok() ? *array->to_floats() : std::vector<float>{};
}

TEST(Npy, ReadsEveryVersionAndBothByteOrders) {
  const std::string little("\x00\x00\x80\x3F\x00\x00\x00\xC0", 8), big("\x3F\x80\x00\x00\xC0\x00\x00\x00", 8);
  for (const char version : {'\1', '\2', '\3'}) {
    EXPECT_EQ(floats(npy(header("<f4", "(2,)"), little, version)), (std::vector<float>{1, -2}));
  }
  EXPECT_EQ(floats(npy(header(">f4", "(2,)"), big)), (std::vector<float>{1, -2}));
}

TEST(Npy, ConvertsColumnMajorToRowMajor) {
  const auto array = parse(npy(header("|u1", "(2, 3)", true), std::string("\1\4\2\5\3\6", 6)));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->dims, (Dims{2, 3}));
  EXPECT_EQ(*array->to_floats(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsHalfPrecisionExactly) {
  const std::string float16s("\x00\x3C\x01\x00\xFF\x7B\x00\x80\x00\xFC", 10);
  const auto x = floats(npy(header("<f2", "(5,)"), float16s));
  EXPECT_EQ(x[0], 1.0f);
  EXPECT_EQ(x[1], 0x1p-24f);
  EXPECT_EQ(x[2], 65504.0f);
  EXPECT_TRUE(x[3] == 0 && std::signbit(x[3]));
  EXPECT_EQ(x[4], -std::numeric_limits<float>::infinity());
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  EXPECT_EQ(floats(npy(header("|b1", "()"), "\1")), (std::vector<float>{1}));
  EXPECT_TRUE(floats(npy(header("<i8", "(0, 5)"), "")).empty());
}

TEST(Npy, RejectsWhatItDoesNotSupport) {
  const std::string four(4, '\0');
  const auto refuses = [](std::string text, Code code) {
    const auto array = parse(std::move(text));
    ASSERT_FALSE(array.ok());
    EXPECT_EQ(array.error().code, code) << array.error().text();
  };
  refuses("", Code::malformed);
  refuses("PK\3\4 not this", Code::malformed);
  refuses(npy(header("|O", "(1,)"), four), Code::unsupported);
  refuses(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", four), Code::unsupported);
  refuses(npy(header("<c8", "(1,)"), four + four), Code::unsupported);
  refuses(npy(header("<f4", "(2,)"), four), Code::malformed);
  refuses(npy(header("<f4", "(1,)"), four + four), Code::malformed);
  refuses(npy(header("<f4", "(-1,)"), four), Code::malformed);
  refuses(npy(header("<f4", "(4611686018427387904, 4)"), four), Code::malformed);
  refuses(npy(header("<f4", "(99999999999999999999,)"), four), Code::malformed);
  refuses(npy("{'descr': '<f4', 'shape': (1,), }", four), Code::malformed);
  refuses(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", four),
          Code::malformed);
  refuses(npy("__import__('os')", four), Code::malformed);
  refuses(npy(header("<f4", "(1,)") + " 1", four), Code::malformed);
  refuses(npy(header("<f4", "(1,)"), four, 4), Code::unsupported);
  refuses(npy(header("<U4", "(2,)"), std::string(32, '\0')), Code::unsupported);
  refuses(npy(header("<U2147483647", "()"), four), Code::unsupported);
}

TEST(Npy, EveryTruncationIsAnError) {
  const std::string whole = npy(header("<f4", "(3,)"), std::string(12, '\0'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse(whole.substr(0, length)).ok()) << length;
  }
  EXPECT_TRUE(parse(whole).ok());
}

TEST(Npy, DamagedBytesAreReadOrRejectedSafely) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = npy(header("<f4", "(3, 2)"), std::string(24, '\1'));
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    const auto array = parse(text);
    if (!array.ok() || array->type == "text") continue;
    EXPECT_TRUE(array->to_floats().ok());
  }
}

TEST(Npy, WhatIsWrittenIsReadBack) {
  const Scratch scratch;
  const auto array = Array::from_floats({1, 2, 3, 4, 5, 6}, {3, 2});
  ASSERT_TRUE(array.ok());
  ASSERT_TRUE(write_npy(scratch.file("x.npy"), *array).ok());
  EXPECT_EQ(scratch.content("x.npy").find('\n') % 64, 63u);
  const auto back = read_npy(scratch.file("x.npy"));
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->dims, (Dims{3, 2}));
  EXPECT_EQ(*back->to_floats(), *array->to_floats());
}

TEST(Npy, InconsistentArraysAreRejected) {
  EXPECT_FALSE(Array::from_floats({1, 2, 3}, {2}).ok());
  EXPECT_FALSE(Array::from_bytes("float24", {}, {0}).ok());
  EXPECT_FALSE(Array::from_bytes("int16", std::vector<std::byte>(3), {1}).ok());
  EXPECT_FALSE(Array::from_floats({}, {-1, 0}).ok());
}

std::map<std::string, Array> some_arrays() {
  return {{"codes", *Array::from_bytes("uint8", {std::byte{1}, std::byte{2}}, {2})},
          {"meta", *Array::from_text("{\"é\": \"𝄞\"}")},
          {"x", *Array::from_floats({1.5f}, {})}};
}

TEST(Npz, WhatIsWrittenIsReadBack) {
  const Scratch scratch;
  ASSERT_TRUE(write_npz(scratch.file("x.npz"), some_arrays()).ok());
  const auto back = read_npz(scratch.file("x.npz"));
  ASSERT_TRUE(back.ok()) << back.error().text();
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ(back->at("meta").text(), "{\"é\": \"𝄞\"}");
  EXPECT_EQ(*back->at("x").to_floats(), (std::vector<float>{1.5f}));
  EXPECT_EQ(back->at("codes").dims, (Dims{2}));
}

TEST(Npz, EveryTruncationIsAnErrorAndEveryFlippedBitIsFoundOrHarmless) {
  const Scratch scratch;
  ASSERT_TRUE(write_npz(scratch.file("x.npz"), some_arrays()).ok());
  const std::string whole = scratch.content("x.npz");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_zip(Bytes::own(whole.substr(0, length))).ok()) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1 << (at % 8));
    scratch.put("y.npz", text);
    const auto arrays = read_npz(scratch.file("y.npz"));
    if (!arrays.ok() || !arrays->contains("x")) continue;
    EXPECT_EQ(*arrays->at("x").to_floats(), (std::vector<float>{1.5f})) << at;
  }
}

std::string deflated(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

template <class T>
std::string little(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// An archive whose directory lists the entry 'x' `times` times; its data are stored once.
std::string archive_of(const std::string& data, std::uint32_t size, std::uint32_t checksum, int times = 1,
                       std::uint16_t method = 8) {
  const auto stored = static_cast<std::uint32_t>(data.size());
  const std::string sizes = little(checksum) + little(stored) + little(size) + little(std::uint16_t{1});
  const std::string local = "PK\3\4" + little(std::uint32_t{20}) + little(method) + little(std::uint32_t{0}) +
                            sizes + little(std::uint16_t{0}) + "x" + data;
  std::string central;
  for (int i = 0; i < times; ++i) {
    central += "PK\1\2" + little(std::uint32_t{20}) + std::string(2, 0) + little(method) +
               little(std::uint32_t{0}) + sizes + std::string(16, 0) + "x";
  }
  return local + central + "PK\5\6" + std::string(4, 0) + little(static_cast<std::uint16_t>(times)) +
         little(static_cast<std::uint16_t>(times)) + little(static_cast<std::uint32_t>(central.size())) +
         little(static_cast<std::uint32_t>(local.size())) + std::string(2, 0);
}

std::uint32_t checksum_of(std::string_view text) { return crc32(std::as_bytes(std::span(text))); }

TEST(Npz, CompressedEntriesAreRead) {
  for (const std::string& text : {std::string(), std::string("abc"), std::string(100'000, 'z')}) {
    const auto entries = read_zip(
        Bytes::own(archive_of(deflated(text), static_cast<std::uint32_t>(text.size()), checksum_of(text))));
    ASSERT_TRUE(entries.ok()) << entries.error().text();
    EXPECT_EQ(entries->at(0).data.text(), text);
  }
}

TEST(Npz, CompressedEntriesOfTheWrongSizeOrContentAreRejected) {
  const std::string text(5000, 'z'), packed = deflated(text);
  const auto refused = [](const std::string& archive, Code code = Code::malformed) {
    const auto entries = read_zip(Bytes::own(archive));
    EXPECT_FALSE(entries.ok());
    EXPECT_EQ(entries.ok() ? Code{} : entries.error().code, code);
    return entries.ok() ? "" : entries.error().text();
  };
  const std::uint32_t checksum = checksum_of(text);
  EXPECT_THAT(refused(archive_of(packed, 4999, checksum)), HasSubstr("'x' are damaged"));
  EXPECT_THAT(refused(archive_of(packed, 5001, checksum)), HasSubstr("'x' are damaged"));
  EXPECT_THAT(refused(archive_of(packed, 5000, checksum + 1)), HasSubstr("checksum"));
  EXPECT_THAT(refused(archive_of(packed + "!", 5000, checksum)), HasSubstr("'x' are damaged"));
  EXPECT_THAT(refused(archive_of(packed.substr(0, packed.size() - 1), 5000, checksum)), HasSubstr("damaged"));
  EXPECT_THAT(refused(archive_of("", 0, 0)), HasSubstr("damaged"));
  EXPECT_THAT(refused(archive_of(packed, 1'000'000, checksum)), HasSubstr("can hold"));
  EXPECT_THAT(refused(archive_of(packed, 5000, checksum, 1, 9), Code::unsupported),
              HasSubstr("not supported"));
}

TEST(Npz, ZipBombsAreRejected) {
  // Nothing is inflated: the declared sizes are checked first.
  const auto refused = [](std::uint32_t size, int times) {
    const auto entries = read_zip(Bytes::own(archive_of(std::string(2'000'000, 'z'), size, 0, times)));
    return entries.ok() ? "" : entries.error().text();
  };
  EXPECT_THAT(refused(2'000'000'000, 1), HasSubstr("1024 MiB"));
  EXPECT_THAT(refused(1'000'000, 1), HasSubstr("damaged"));
  std::string text;  // incompressible
  for (std::uint32_t i = 0, x = 1; i < 1000; ++i)
    text += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  const auto entries = read_zip(Bytes::own(archive_of(deflated(text), 1000, checksum_of(text), 1000)));
  ASSERT_FALSE(entries.ok());
  EXPECT_THAT(entries.error().text(), HasSubstr("overlap"));
}

TEST(Npz, ChecksumsAreThoseOfTheStandard) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32(std::as_bytes(std::span(text))), 0xCBF43926u);
}

}  // namespace
}  // namespace anybit
