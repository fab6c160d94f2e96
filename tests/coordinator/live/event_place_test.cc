#include "coordinator/live/event_place.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::live {
namespace {

using testing::HasSubstr;

v1::WatchMemberResponse MemberNews(uint64_t lease, const std::vector<int64_t>& steps) {
  v1::WatchMemberResponse news;
  news.set_lease(lease);
  for (const int64_t step : steps) news.add_values()->set_step(step);
  return news;
}

v1::WatchSweepResponse SweepNews(uint64_t token) {
  v1::WatchSweepResponse news;
  news.set_resume_token(token);
  return news;
}

TEST(EventPlaceTest, OfASweepItIsTheNumberOfTheNewestEvent) {
  EXPECT_EQ(PlaceAfter(SweepNews(7), ""), "7");
  EXPECT_EQ(PlaceAfter(SweepNews(7), "9"), "7");
  EXPECT_EQ(PlaceAfter(SweepNews(0), "x"), "0");
  EXPECT_EQ(PlaceAfter(SweepNews(std::numeric_limits<uint64_t>::max()), ""),
            "18446744073709551615");
}

TEST(EventPlaceTest, OfAMemberItIsTheLastStepOfItsLease) {
  EXPECT_EQ(PlaceAfter(MemberNews(5, {10, 30, 20}), ""), "5:29");
  EXPECT_EQ(PlaceAfter(MemberNews(5, {40}), "5:30"), "5:39");
  EXPECT_EQ(PlaceAfter(MemberNews(5, {}), "5:30"), "5:30") << "nothing was measured";
  EXPECT_EQ(PlaceAfter(MemberNews(5, {20}), "5:30"), "5:30");
  EXPECT_EQ(PlaceAfter(MemberNews(6, {}), "5:30"), "6:-1") << "another attempt";
  EXPECT_EQ(PlaceAfter(MemberNews(6, {10}), "5:30"), "6:9");
  EXPECT_EQ(PlaceAfter(MemberNews(0, {}), ""), "0:-1") << "it has had no lease";
  EXPECT_EQ(PlaceAfter(MemberNews(5, {10}), "garbage"), "5:9");
}

TEST(EventPlaceTest, OfAnythingElseThereIsNone) {
  EXPECT_EQ(PlaceAfter(v1::GetSweepResponse(), "7"), "");
  EXPECT_EQ(PlaceAfter(v1::GetStudyResponse(), ""), "");
}

TEST(EventPlaceTest, ARequestBeginsThere) {
  v1::WatchSweepRequest sweep;
  sweep.set_sweep_id(3);
  ASSERT_TRUE(BeginAfter("18446744073709551615", sweep).ok());
  EXPECT_EQ(sweep.resume_token(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(sweep.sweep_id(), 3u);

  v1::WatchMemberRequest member;
  member.set_member("s1c0r0");
  ASSERT_TRUE(BeginAfter("5:30", member).ok());
  EXPECT_EQ(member.lease(), 5u);
  EXPECT_EQ(member.after_step(), 30);
  EXPECT_EQ(member.member(), "s1c0r0");
}

TEST(EventPlaceTest, AndTellsTheSamePlaceAgain) {
  v1::WatchMemberRequest member;
  ASSERT_TRUE(BeginAfter(PlaceAfter(MemberNews(5, {10}), ""), member).ok());
  EXPECT_EQ(PlaceAfter(MemberNews(5, {}), "5:10"), "5:10");
  EXPECT_EQ(member.lease(), 5u);
  EXPECT_EQ(member.after_step(), 9) << "of the last step more may come";
}

TEST(EventPlaceTest, WhatIsNoPlaceIsRefused) {
  for (const char* const id : {"", "x", "-1", "7x", "1:2", "18446744073709551616", "7.0", "0x7"}) {
    v1::WatchSweepRequest request;
    const absl::Status status = BeginAfter(id, request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_THAT(Message(status), HasSubstr("Last-Event-ID"));
    EXPECT_EQ(request.resume_token(), 0u) << id;
  }
  for (const char* const id : {"", "7", ":", "5:", ":30", "5:x", "x:30", "5:30:1", "-5:30", "5;30",
                               "5:9223372036854775808"}) {
    v1::WatchMemberRequest request;
    const absl::Status status = BeginAfter(id, request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_THAT(Message(status), HasSubstr("Last-Event-ID"));
    EXPECT_EQ(request.lease(), 0u) << id;
    EXPECT_EQ(request.after_step(), 0) << id;
  }
}

TEST(EventPlaceTest, ARequestForNoEventsHasNone) {
  v1::GetSweepRequest request;
  EXPECT_EQ(BeginAfter("7", request).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace noisefloor::live
