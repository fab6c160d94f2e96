// Files of members on their way to people.
#include "coordinator/rpc/piece_stream.h"

#include <fstream>

#include "common/files/sha256.h"
#include "tests/coordinator/rpc/held_query.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::test {
namespace {

using Code = absl::StatusCode;

class ArtifactPiecesTest : public testing::Test {
 protected:
  ArtifactPiecesTest() { query_.artifact_ = {home_.path() + "/file", Sha256Hex("abc"), 3}; }

  absl::StatusOr<std::string> First() {
    v1::GetArtifactRequest request;
    request.set_member("s1c0r0");
    request.set_kind("weights");
    return ArtifactPieces(query_, request)();
  }

  const TempHome home_;
  HeldQuery query_;
};

TEST_F(ArtifactPiecesTest, OneThatCannotBeOpenedIsNotCalledDamaged) {
  EXPECT_EQ(First().status().code(), Code::kNotFound) << First().status();
}

TEST_F(ArtifactPiecesTest, OneThatEndsEarlyIs) {
  std::ofstream(query_.artifact_.path) << "ab";
  EXPECT_EQ(First().status(),
            MakeError(Code::kDataLoss, query_.artifact_.path + " ends 1 bytes early"));
}

TEST_F(ArtifactPiecesTest, OneThatIsWholeComes) {
  std::ofstream(query_.artifact_.path) << "abc";
  const auto piece = First();
  ASSERT_TRUE(piece.ok()) << piece.status();
  EXPECT_EQ(*piece, "abc");
}

}  // namespace
}  // namespace noisefloor::test
