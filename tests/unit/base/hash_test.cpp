// The test vectors of FIPS 180-2 appendix B, and NIST's additional ones for SHA-2 (SHA256LongMsg).
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace anybit {
namespace {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

TEST(Sha256, MatchesTheVectorsOfTheStandard) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hash_of("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(hash_of("\xc9\x8c\x8e\x55"), "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
}

TEST(Sha256, MatchesTheVectorsAroundTheEndOfABlock) {
  EXPECT_EQ(hash_of(std::string(55, '\0')),
            "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(hash_of(std::string(56, '\0')),
            "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(hash_of(std::string(57, '\0')),
            "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
  EXPECT_EQ(hash_of(std::string(64, '\0')),
            "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
  EXPECT_EQ(hash_of(std::string(1000, '\0')),
            "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreSplit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::string text(5000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  for (int round = 0; round < 200; ++round) {
    Sha256 parts;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = random() % 150;
      parts.update(std::string_view(text).substr(at, length));
      at += std::min(length, text.size() - at);
    }
    ASSERT_EQ(parts.hex(), hash_of(text));
  }
}

TEST(Sha256, AcceptsMoreBytesAfterADigest) {
  Sha256 hash;
  hash.update("ab");
  EXPECT_EQ(hash.hex(), hash_of("ab"));
  hash.update("c");
  EXPECT_EQ(hash.hex(), hash_of("abc"));
}

}  // namespace
}  // namespace anybit
