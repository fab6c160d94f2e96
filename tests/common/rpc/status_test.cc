#include "common/rpc/status.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(RpcStatusTest, EveryCodeComesBackWithItsMessage) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        MakeError(static_cast<absl::StatusCode>(code), "lease 7: not known");

    const grpc::Status sent = ToGrpc(status);

    EXPECT_EQ(static_cast<int>(sent.error_code()), code);
    EXPECT_EQ(FromGrpc(sent), status);
  }
}

TEST(RpcStatusTest, OkStaysOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(RpcStatusTest, MistakesOfASweepTravelWithTheStatus) {
  v1::BadSweep bad;
  auto* first = bad.add_violations();
  first->set_field("noise[2].init");
  first->set_description("expected fixed, free or off, got 'fre'");
  bad.add_violations()->set_field("replicates");

  const absl::Status received = FromGrpc(ToGrpc(BadSweepError(bad)));

  EXPECT_EQ(received.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(received),
            "noise[2].init: expected fixed, free or off, got 'fre' (and 1 more)");
  const auto found = BadSweepOf(received);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->SerializeAsString(), bad.SerializeAsString());
}

TEST(RpcStatusTest, OtherStatusesCarryNoMistakes) {
  EXPECT_FALSE(BadSweepOf(InvalidInput("x")).has_value());
  EXPECT_FALSE(BadSweepOf(absl::OkStatus()).has_value());
  const grpc::Status garbage(grpc::StatusCode::INVALID_ARGUMENT, "x", "\xff\xff\xff");
  EXPECT_FALSE(BadSweepOf(FromGrpc(garbage)).has_value());
}

}  // namespace
}  // namespace noisefloor
