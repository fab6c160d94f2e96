#include "common/files/sha256.h"

#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

// FIPS 180-4 examples.
TEST(Sha256Test, PublishedExamplesComeOut) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256Test, PiecesGiveTheHashOfTheWholeAndItBeginsAnew) {
  Sha256 hash;

  const std::string pieces = hash.Update("a").Update("").Update("bc").Hex();
  const std::string again = hash.Update("abc").Hex();

  EXPECT_EQ(pieces, Sha256Hex("abc"));
  EXPECT_EQ(again, pieces);
}

TEST(Sha256Test, NumbersAreLittleEndian) {
  EXPECT_EQ(Sha256().UpdateU64(0x0102030405060708).Hex(),
            Sha256Hex("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST(Sha256Test, FileOfSeveralPiecesHasTheHashOfItsContent) {
  Scratch scratch;
  const std::string content(700'001, 'x');
  const std::string path = scratch.Put("file", content);

  EXPECT_EQ(Sha256File(path).value(), Sha256Hex(content));
}

TEST(Sha256Test, MissingFileIsNamed) {
  const absl::Status status = Sha256File("/nonexistent/file").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "/nonexistent/file: cannot open: No such file or directory");
}

}  // namespace
}  // namespace noisefloor
