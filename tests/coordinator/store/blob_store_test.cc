#include "coordinator/store/blob_store.h"

#include <fstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

BlobName NameOf(std::string_view content) { return {Sha256Hex(content), content.size()}; }

class BlobStoreTest : public ::testing::Test {
 protected:
  TempHome home_;
  BlobStore blobs_ = *BlobStore::Open(home_.path());
};

std::vector<std::string> FilesOf(const BlobStore& blobs, const BlobName& name) {
  const std::string path = blobs.PathOf(name.sha256);
  return *ListFiles(path.substr(0, path.rfind('/')));
}

TEST_F(BlobStoreTest, ContentWrittenInPiecesIsFoundUnderItsHash) {
  const BlobName name = NameOf("hello world");

  absl::StatusOr<BlobWriter> writer = blobs_.Create(name);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write("hello ").ok());
  EXPECT_FALSE(blobs_.Has(name));
  ASSERT_TRUE(writer->Write("world").ok());
  ASSERT_TRUE(writer->Commit().ok());

  EXPECT_TRUE(blobs_.Has(name));
  EXPECT_TRUE(blobs_.Verify(name).ok());
  EXPECT_EQ(*ReadFile(blobs_.PathOf(name.sha256), 100), "hello world");
  EXPECT_THAT(blobs_.PathOf(name.sha256),
              EndsWith("/blobs/" + name.sha256.substr(0, 2) + "/" + name.sha256.substr(2)));
}

TEST_F(BlobStoreTest, ContentOfAnotherHashIsRefusedAndNotKept) {
  BlobName name = NameOf("right");

  absl::StatusOr<BlobWriter> writer = blobs_.Create(name);
  ASSERT_TRUE(writer->Write("wrong").ok());
  const absl::Status status = writer->Commit();
  *writer = *blobs_.Create(name);  // The refused one is gone; this one is never committed.

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr(Sha256Hex("wrong")));
  EXPECT_FALSE(blobs_.Has(name));
}

TEST_F(BlobStoreTest, TooFewAndTooManyBytesAreRefused) {
  BlobName name = NameOf("12345");

  absl::StatusOr<BlobWriter> few = blobs_.Create(name);
  ASSERT_TRUE(few->Write("1234").ok());
  EXPECT_THAT(Message(few->Commit()), HasSubstr("5 bytes announced, 4 came"));

  absl::StatusOr<BlobWriter> many = blobs_.Create(name);
  ASSERT_TRUE(many->Write("1234").ok());
  EXPECT_THAT(Message(many->Write("56")), HasSubstr("more than the announced 5 bytes"));
  EXPECT_FALSE(blobs_.Has(name));
}

TEST_F(BlobStoreTest, AWriterThatIsDroppedLeavesNothing) {
  const BlobName name = NameOf("abandoned");

  { EXPECT_TRUE(blobs_.Create(name)->Write("aband").ok()); }

  EXPECT_TRUE(FilesOf(blobs_, name).empty());
}

TEST_F(BlobStoreTest, LeftoversOfAKilledWriterAreRemovedAndNothingElse) {
  const BlobName name = NameOf("kept");
  ASSERT_TRUE(blobs_.Put(name, "kept").ok());
  std::ofstream(blobs_.PathOf(name.sha256) + ".aside-abc123") << "half";

  ASSERT_TRUE(blobs_.RemoveLeftovers().ok());

  EXPECT_EQ(FilesOf(blobs_, name).size(), 1u);
  EXPECT_TRUE(blobs_.Verify(name).ok());
}

TEST_F(BlobStoreTest, TruncatedAndChangedFilesAreFound) {
  const BlobName name = NameOf("some content");
  ASSERT_TRUE(blobs_.Put(name, "some content").ok());

  std::ofstream(blobs_.PathOf(name.sha256)) << "some c0ntent";
  EXPECT_TRUE(blobs_.Has(name)) << "Has looks at the size alone";
  EXPECT_EQ(blobs_.Verify(name).code(), absl::StatusCode::kDataLoss);

  std::ofstream(blobs_.PathOf(name.sha256)) << "some";
  EXPECT_FALSE(blobs_.Has(name));
  EXPECT_THAT(Message(blobs_.Verify(name)), HasSubstr("4 bytes, expected 12"));

  ASSERT_TRUE(RemoveFile(blobs_.PathOf(name.sha256)).ok());
  EXPECT_EQ(blobs_.Verify(name).code(), absl::StatusCode::kNotFound);
}

TEST_F(BlobStoreTest, NamesThatAreNoHashesNeverBecomePaths) {
  const std::string upper(64, 'A');
  for (const std::string& bad : {std::string("../../etc/passwd"), std::string(""), upper}) {
    EXPECT_EQ(blobs_.PathOf(bad), "");
    EXPECT_EQ(blobs_.Create({bad, 1}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(blobs_.Has({bad, 1}));
  }
}

TEST_F(BlobStoreTest, ManyWritersOfTheSameContentEndWithOneFile) {
  const std::string content(100000, 'x');
  const BlobName name = NameOf(content);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      absl::StatusOr<BlobWriter> writer = blobs_.Create(name);
      EXPECT_TRUE(writer.ok() && writer->Write(content).ok() && writer->Commit().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(FilesOf(blobs_, name).size(), 1u);
  EXPECT_TRUE(blobs_.Verify(name).ok());
}

}  // namespace
}  // namespace noisefloor
