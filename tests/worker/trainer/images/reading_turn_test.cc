#include "worker/trainer/images/reading_turn.h"

#include <filesystem>
#include <memory>

#include "gtest/gtest.h"

#include "tests/worker/trainer/data/data_files.h"

namespace noisefloor::trainer {
namespace {

// The one before is done with nothing, and a newcomer has the next lock of that name.
TEST(ReadingTurnTest, ALockWithoutANameIsNoTurn) {
  const DataRoot root;
  auto first = ReadingTurn::Take(root.path(), "key", {});
  ASSERT_TRUE(first.ok());
  absl::StatusOr<std::unique_ptr<ReadingTurn>> newcomer = nullptr;
  int asked = 0;
  const auto waiting = ReadingTurn::Take(root.path(), "key", [&] {
    if (++asked == 1) {
      first->reset();
      newcomer = ReadingTurn::Take(root.path(), "key", {});
    } else {
      EXPECT_TRUE(std::filesystem::exists(root.Path("key.reading")));
      if (asked == 3) newcomer->reset();
    }
    return asked < 50;
  });
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  EXPECT_TRUE((*waiting)->waited());
  EXPECT_GE(asked, 3);
}

}  // namespace
}  // namespace noisefloor::trainer
