#include "common/base/status.h"

#include <memory>

#include "gtest/gtest.h"

#include "common/base/check.h"

namespace noisefloor {
namespace {

absl::StatusOr<std::unique_ptr<int>> Boxed(int value) {
  if (value < 0) return InvalidInput("value -1; expected 0 or more");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Boxed(a));
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, Boxed(b));
  return *first + *second;
}

absl::Status Check(int value) {
  NF_RETURN_IF_ERROR(Boxed(value).status());
  return MakeError(absl::StatusCode::kAborted, "after the check");
}

TEST(StatusTest, ContextComesBeforeTheMessage) {
  const absl::Status status = Annotate(Annotate(InvalidInput("too long"), "line 3"), "x.yaml");

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "x.yaml: line 3: too long");
}

TEST(StatusTest, SuccessStaysSuccess) { EXPECT_TRUE(Annotate(absl::OkStatus(), "x.yaml").ok()); }

TEST(StatusTest, MacrosReturnTheFirstErrorAndElseGoOn) {
  EXPECT_EQ(Sum(1, 2).value(), 3);
  EXPECT_EQ(Message(Sum(1, -1).status()), "value -1; expected 0 or more");
  EXPECT_EQ(Check(-1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check(1).code(), absl::StatusCode::kAborted);
}

TEST(CheckDeathTest, BrokenInvariantSaysWhere) {
  NF_CHECK(1 + 1 == 2);
  EXPECT_DEATH(NF_CHECK(1 + 1 == 3), "status_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace noisefloor
