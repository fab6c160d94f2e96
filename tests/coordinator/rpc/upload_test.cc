// What a lease may send, whatever becomes of it meanwhile.
#include "coordinator/rpc/upload.h"

#include <deque>
#include <set>
#include <vector>

#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::test {
namespace {

using Code = absl::StatusCode;

class PartsReader final : public grpc::ServerReaderInterface<v1::UploadRequest> {
 public:
  explicit PartsReader(std::deque<v1::UploadRequest> parts) : parts_(std::move(parts)) {}

  void SendInitialMetadata() override {}
  bool NextMessageSize(uint32_t*) override { return !parts_.empty(); }
  bool Read(v1::UploadRequest* request) override {
    if (parts_.empty()) return false;
    *request = std::move(parts_.front());
    parts_.pop_front();
    return true;
  }

 private:
  std::deque<v1::UploadRequest> parts_;
};

class ReceiveUploadTest : public testing::Test {
 protected:
  absl::StatusOr<v1::UploadResponse> Receive(const std::string& content) {
    PartsReader reader({UploadHeader(7, Sha256Hex(content), content.size()), Piece(content)});
    return ReceiveUpload(reader, blobs_, limits_);
  }

  const TempHome home_;
  BlobStore blobs_ = *BlobStore::Open(home_.path());
  std::set<LeaseId> live_ = {LeaseId{7}};
  UploadLimits limits_ = {.is_live = [this](LeaseId lease) { return live_.contains(lease); }};
};

// Else it would be told that a file is there which may be gone by now.
TEST_F(ReceiveUploadTest, ALeaseThatIsSettledBeforeItsFileIsPinnedIsToldSo) {
  ASSERT_TRUE(Receive("weights").ok());
  ASSERT_TRUE(Receive("weights")->known_already());
  limits_.pin = [this](const std::string&, LeaseId) {
    live_.clear();
    return true;
  };
  EXPECT_EQ(Receive("weights").status().code(), Code::kFailedPrecondition);
}

TEST_F(ReceiveUploadTest, OneFileMoreThanMayBePinnedIsRefused) {
  limits_.pin = [](const std::string&, LeaseId) { return false; };
  EXPECT_EQ(Receive("weights").status(),
            InvalidInput("lease 7 has sent as many files as a result may name"));
  EXPECT_FALSE(blobs_.Has({Sha256Hex("weights"), 7}));
}

// Else another worker could use up what the lease may pin, and its member would fail.
TEST_F(ReceiveUploadTest, WhatIsNotThereIsPinnedNotBeforeAllOfItHasCome) {
  std::vector<bool> there_when_pinned;
  const BlobName name{Sha256Hex("weights"), 7};
  limits_.pin = [&](const std::string& sha256, LeaseId lease) {
    EXPECT_EQ(sha256, name.sha256);
    EXPECT_EQ(lease, LeaseId{7});
    there_when_pinned.push_back(blobs_.Has(name));
    return true;
  };
  PartsReader header({UploadHeader(7, name.sha256, name.size_bytes)});
  EXPECT_EQ(ReceiveUpload(header, blobs_, limits_).status().code(), Code::kInvalidArgument);
  PartsReader other({UploadHeader(7, name.sha256, name.size_bytes), Piece("Weights")});
  EXPECT_EQ(ReceiveUpload(other, blobs_, limits_).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(there_when_pinned.empty());

  ASSERT_TRUE(Receive("weights").ok());
  EXPECT_EQ(there_when_pinned, std::vector<bool>{false}) << "before it could be removed";
  EXPECT_TRUE(Receive("weights")->known_already());
  EXPECT_EQ(there_when_pinned, (std::vector<bool>{false, true}));
}

TEST_F(ReceiveUploadTest, WhatHasEndedMakesRoomForTheNext) {
  LeaseUploads of_leases;
  limits_.of_leases = &of_leases;
  for (size_t i = 0; i < LeaseUploads::kMost - 1; ++i) ASSERT_TRUE(of_leases.Begin(LeaseId{7}));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(Receive("weights").ok()) << i;
  ASSERT_TRUE(of_leases.Begin(LeaseId{7}));
  const absl::Status refused = Receive("weights").status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(Message(refused),
            "8 uploads of lease 7 go on at this moment, as many as may; try again");
  EXPECT_TRUE(of_leases.Begin(LeaseId{8})) << "another's";
  of_leases.End(LeaseId{7});
  EXPECT_TRUE(Receive("weights").ok());
}

}  // namespace
}  // namespace noisefloor::test
