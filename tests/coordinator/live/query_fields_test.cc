#include "coordinator/live/query_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "noisefloor/v1/coordinator_api.pb.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// It is refused, with what was asked for in the message.
template <typename Proto>
void ExpectRefused(const std::string& path, const std::string& value) {
  Proto message;
  const absl::Status status = SetField(message, path, value);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path << "=" << value;
  EXPECT_THAT(Message(status), HasSubstr(path));
}

template <typename Proto>
Proto With(const std::string& path, const std::string& value) {
  Proto message;
  const absl::Status status = SetField(message, path, value);
  EXPECT_TRUE(status.ok()) << status;
  return message;
}

TEST(QueryFieldsTest, NumbersToTheirLimits) {
  EXPECT_EQ(With<v1::GetSweepRequest>("sweep_id", "3").sweep_id(), 3u);
  EXPECT_EQ(With<v1::GetSweepRequest>("sweep_id", "18446744073709551615").sweep_id(),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(With<v1::ListMembersRequest>("page_size", "4294967295").page_size(),
            std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(With<v1::UpdateSweepRequest>("priority", "-2147483648").priority(),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(With<v1::UpdateSweepRequest>("priority", "2147483647").priority(),
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(With<v1::WatchMemberRequest>("after_step", "-9223372036854775808").after_step(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(With<v1::WatchMemberRequest>("after_step", "9223372036854775807").after_step(),
            std::numeric_limits<int64_t>::max());
}

TEST(QueryFieldsTest, ANumberThatDoesNotFitIsNone) {
  ExpectRefused<v1::GetSweepRequest>("sweep_id", "18446744073709551616");
  ExpectRefused<v1::GetSweepRequest>("sweep_id", "-1");
  ExpectRefused<v1::ListMembersRequest>("page_size", "4294967296");
  ExpectRefused<v1::ListMembersRequest>("page_size", "-1");
  ExpectRefused<v1::UpdateSweepRequest>("priority", "2147483648");
  ExpectRefused<v1::UpdateSweepRequest>("priority", "-2147483649");
  ExpectRefused<v1::WatchMemberRequest>("after_step", "9223372036854775808");
  ExpectRefused<v1::WatchMemberRequest>("after_step", "-9223372036854775809");
}

TEST(QueryFieldsTest, WhatIsNoNumberIsNone) {
  for (const char* const value :
       {"", "x", "3x", "x3", "0x3", "3.0", "1e3", "--3", "3 4", "three"}) {
    ExpectRefused<v1::GetSweepRequest>("sweep_id", value);
  }
  ExpectRefused<v1::GetSweepRequest>("sweep_id", std::string("3\0", 2));
}

TEST(QueryFieldsTest, TrueOrFalse) {
  EXPECT_TRUE(With<v1::GetStudyRequest>("colour", "true").colour());
  v1::GetStudyRequest request;
  request.set_colour(true);
  EXPECT_TRUE(SetField(request, "colour", "false").ok());
  EXPECT_FALSE(request.colour());
  for (const char* const value : {"", "1", "0", "True", "yes", "true "}) {
    ExpectRefused<v1::GetStudyRequest>("colour", value);
  }
}

TEST(QueryFieldsTest, EnumerationsByName) {
  EXPECT_EQ(With<v1::GetStudyRequest>("form", "FORM_PAGE").form(), v1::GetStudyRequest::FORM_PAGE);
  EXPECT_EQ(With<v1::ListMembersRequest>("state", "MEMBER_STATE_DONE").state(),
            v1::MEMBER_STATE_DONE);
  for (const char* const value : {"", "4", "form_page", "PAGE", "MEMBER_STATE_DONE"}) {
    ExpectRefused<v1::GetStudyRequest>("form", value);
  }
}

TEST(QueryFieldsTest, TextsAsTheyAre) {
  EXPECT_EQ(With<v1::GetMemberRequest>("member", "").member(), "");
  EXPECT_EQ(With<v1::GetMemberRequest>("member", " s1.c0=r0 ").member(), " s1.c0=r0 ");
}

TEST(QueryFieldsTest, WhatIsOptionalIsSet) {
  EXPECT_TRUE(With<v1::UpdateSweepRequest>("paused", "false").has_paused());
  EXPECT_TRUE(With<v1::UpdateSweepRequest>("max_failures", "0").has_max_failures());
}

TEST(QueryFieldsTest, TheLastOfSeveralStays) {
  v1::GetSweepRequest request;
  EXPECT_TRUE(SetField(request, "sweep_id", "3").ok());
  EXPECT_TRUE(SetField(request, "sweep_id", "4").ok());
  EXPECT_FALSE(SetField(request, "sweep_id", "x").ok());
  EXPECT_EQ(request.sweep_id(), 4u);
}

TEST(QueryFieldsTest, OfAFieldThatRepeatsEachIsOneMore) {
  v1::ListMembersRequest request;
  for (const char* const state :
       {"MEMBER_STATE_DONE", "MEMBER_STATE_FAILED", "MEMBER_STATE_DONE"}) {
    EXPECT_TRUE(SetField(request, "selection.states", state).ok());
  }
  EXPECT_THAT(request.selection().states(),
              ElementsAre(v1::MEMBER_STATE_DONE, v1::MEMBER_STATE_FAILED, v1::MEMBER_STATE_DONE));
  EXPECT_TRUE(SetField(request, "selection.cells", "7").ok());
  EXPECT_TRUE(SetField(request, "selection.cells", "0").ok());
  EXPECT_THAT(request.selection().cells(), ElementsAre(7u, 0u));
  EXPECT_TRUE(SetField(request, "selection.plans", "a,b").ok());
  EXPECT_THAT(request.selection().plans(), ElementsAre("a,b"));
  EXPECT_FALSE(SetField(request, "selection.cells", "x").ok());
  EXPECT_EQ(request.selection().cells_size(), 2);
}

TEST(QueryFieldsTest, DotsLeadIntoMessages) {
  EXPECT_EQ(
      With<v1::PlanSweepRequest>("sweep.hardware.kind", "KIND_LIST").sweep().hardware().kind(),
      v1::HardwareChoice::KIND_LIST);
  EXPECT_THAT(
      With<v1::PlanSweepRequest>("sweep.hardware.classes", "a").sweep().hardware().classes(),
      ElementsAre("a"));
}

TEST(QueryFieldsTest, WhatIsNoFieldIsRefused) {
  for (const char* const path :
       {"", ".", "..", "x", "sweep_id ", "Sweep_id", "sweepId", ".sweep_id", "sweep_id.",
        "sweep_id.x", "selection.", "selection..states", "selection.x", ".selection.states",
        "selection.states.x", "1"}) {
    ExpectRefused<v1::ListMembersRequest>(path, "1");
  }
}

TEST(QueryFieldsTest, MessagesAndMapsAreRefused) {
  ExpectRefused<v1::ListMembersRequest>("selection", "x");
  ExpectRefused<v1::ListMembersRequest>("selection", "");
  ExpectRefused<v1::PlanSweepRequest>("sweep.tags", "a");
  ExpectRefused<v1::PlanSweepRequest>("sweep.tags.key", "a");
  ExpectRefused<v1::UpdateSweepRequest>("set_limits", "1");
}

TEST(QueryFieldsTest, APathThroughMessagesThatRepeatIsRefused) {
  ExpectRefused<v1::PlanSweepRequest>("sweep.noise.name", "a");
  ExpectRefused<v1::PlanSweepRequest>("assumed_workers.name", "a");
  ExpectRefused<v1::PlanSweepRequest>("assumed_workers", "a");
}

TEST(QueryFieldsTest, FractionsAreNotRead) {
  ExpectRefused<v1::UpdateSweepRequest>("gpu_hours", "1.5");
  ExpectRefused<v1::PlanSweepRequest>("sweep.reference_accuracy", "1");
}

}  // namespace
}  // namespace noisefloor::live
