// Pages and what is asked for, as people ask: with a data directory, without a server.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/settings.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/store/database.h"
#include "tests/coordinator/rpc/asked.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

using QuestionsTest = AskedTest;

TEST_F(QuestionsTest, TheTokenOfAPageIsWhereTheNextBegins) {
  v1::ListMembersRequest members;
  members.set_page_size(5);
  std::vector<std::string> seen;
  do {
    const auto page = asked_.ListMembers(members);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const v1::Member& member : page->members()) seen.push_back(member.id());
    members.set_page_token(page->next_page_token());
  } while (!members.page_token().empty() && seen.size() < 100);
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 12u);

  home_.Apply({sample::Keep(2), sample::Keep(3)});
  v1::ListSweepsRequest sweeps;
  sweeps.set_page_size(2);
  const auto first = asked_.ListSweeps(sweeps);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->sweeps_size(), 2);
  EXPECT_EQ(first->sweeps(0).id(), 3u);
  sweeps.set_page_token(first->next_page_token());
  const auto second = asked_.ListSweeps(sweeps);
  ASSERT_EQ(second->sweeps_size(), 1);
  EXPECT_EQ(second->sweeps(0).id(), 1u);
  EXPECT_EQ(second->next_page_token(), "");
}

// Against the same put in order here, of which what is equal stays in order of cell and replicate.
TEST_F(QuestionsTest, PagesKeepTheOrderThatWasAskedFor) {
  SQLite::Database raw(DatabasePath(home_.path()), SQLite::OPEN_READWRITE);
  ASSERT_EQ(raw.exec("UPDATE attempt_metric SET value = 0.25 * (lease % 3) WHERE name = 'top1' "
                     "AND lease > (SELECT min(lease) FROM attempt_metric)"),
            5);
  ASSERT_EQ(raw.exec("UPDATE attempt_metric SET special = 1, value = 0 WHERE name = 'top1' AND "
                     "lease = (SELECT max(lease) FROM attempt WHERE accepted = 1)"),
            1);
  const auto all = asked_.ListMembers(v1::MEMBER_VIEW_BASIC);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto top1 = [](const v1::Member& member) -> std::optional<double> {
    const auto& metrics = member.outcome().metrics();
    const auto found = metrics.find("top1");
    if (found == metrics.end() || std::isnan(found->second)) return std::nullopt;
    return found->second;
  };
  using Before = std::function<bool(const v1::Member&, const v1::Member&)>;
  const std::map<std::string, Before> orders = {
      {"", [](const auto&, const auto&) { return false; }},
      {"member", [](const auto&, const auto&) { return false; }},
      {"member desc",
       [](const auto& a, const auto& b) {
         return std::pair(b.cell(), b.replicate()) < std::pair(a.cell(), a.replicate());
       }},
      {"state", [](const auto& a, const auto& b) { return a.state() < b.state(); }},
      {"state desc", [](const auto& a, const auto& b) { return a.state() > b.state(); }},
      {"attempt", [](const auto& a, const auto& b) { return a.attempt() < b.attempt(); }},
      {"attempt desc", [](const auto& a, const auto& b) { return a.attempt() > b.attempt(); }},
      {"top1",
       [&](const auto& a, const auto& b) { return top1(a).value_or(2) < top1(b).value_or(2); }},
      {"top1 desc",
       [&](const auto& a, const auto& b) { return top1(a).value_or(-1) > top1(b).value_or(-1); }},
      {"worker", [](const auto& a, const auto& b) {
         return std::pair(a.worker().empty(), a.worker()) <
                std::pair(b.worker().empty(), b.worker());
       }}};
  for (const auto& [order_by, before] : orders) {
    std::vector<v1::Member> sorted(all->members().begin(), all->members().end());
    std::ranges::stable_sort(sorted, before);
    std::string expected;
    for (const v1::Member& member : sorted) expected += member.id() + " ";
    for (const uint32_t size : {1, 2, 5, 100}) {
      v1::ListMembersRequest request;
      request.set_order_by(order_by);
      request.set_page_size(size);
      std::string ids;
      int pages = 0;
      do {
        const auto page = asked_.ListMembers(request);
        ASSERT_TRUE(page.ok()) << page.status();
        for (const v1::Member& member : page->members()) ids += member.id() + " ";
        request.set_page_token(page->next_page_token());
      } while (!request.page_token().empty() && ++pages < 20);
      EXPECT_EQ(ids, expected) << order_by << " by " << size;
    }
  }
}

TEST_F(QuestionsTest, ATokenIsOfOneOrder) {
  v1::ListMembersRequest request;
  request.set_page_size(2);
  request.set_order_by("top1 desc");
  const std::string token = asked_.ListMembers(request)->next_page_token();
  request.set_page_token(token);
  request.set_order_by("top1");
  EXPECT_EQ(asked_.ListMembers(request).status(),
            InvalidInput("page_token: not one of an earlier answer in this order"));
  request.set_order_by("top1 desc");
  EXPECT_TRUE(asked_.ListMembers(request).ok());
  for (const char* const wrong :
       {"top1 desc/s1c0r0", "top1 desc/=x/s1c0r0", "top1 desc/=1/s2c0r0", "loss/=1/s1c0r0",
        "top1 desc/=18446744073709551615/s1c0r0", "top1 desc/1/s1c0r0"}) {
    request.set_page_token(wrong);
    EXPECT_EQ(asked_.ListMembers(request).status(),
              InvalidInput("page_token: not one of an earlier answer about this sweep"))
        << wrong;
  }
}

TEST_F(QuestionsTest, MembersAreFoundByWhatAxesGaveThem) {
  const auto ids = [&](const std::vector<std::pair<std::string, SettingValue>>& axes) {
    v1::ListMembersRequest request;
    for (const auto& axis : axes) *request.mutable_selection()->add_axes() = ToProto(axis);
    const auto page = asked_.ListMembers(request);
    if (!page.ok()) return std::string(page.status().message());
    return page->members_size() == 0
               ? std::string("none")
               : page->members(0).id() + " " + std::to_string(page->members_size());
  };
  const std::string rate = "train.optimizer.learning_rate";
  EXPECT_EQ(ids({{rate, 0.5}}), "s1c2r0 6");
  EXPECT_EQ(ids({{rate, 0.5}, {rate, 0.05}}), "s1c0r0 12");
  EXPECT_EQ(ids({{rate, 0.5}, {"train.epochs", int64_t{1}}}),
            "s1 has no axis train.epochs; it has " + rate);
  EXPECT_EQ(ids({{rate, 0.7}}), "s1 has no " + rate + " 0.7; it has 0.05, 0.5");
  v1::ListMembersRequest request;
  request.mutable_selection()->add_axes()->set_path(rate);
  EXPECT_EQ(asked_.ListMembers(request).status(),
            InvalidInput("selection.axes: expected a value of " + rate));
}

TEST_F(QuestionsTest, WhatMakesNoSenseInAQuestionIsRefusedByItsField) {
  const auto of_members = [&](const std::function<void(v1::ListMembersRequest&)>& make) {
    v1::ListMembersRequest request;
    make(request);
    return asked_.ListMembers(request).status();
  };
  EXPECT_EQ(of_members([](auto& r) { r.set_state(static_cast<v1::MemberState>(99)); }),
            InvalidInput("state: expected one of MemberState, got 99"));
  EXPECT_EQ(of_members([](auto& r) { r.set_view(static_cast<v1::MemberView>(9)); }),
            InvalidInput("view: expected one of MemberView, got 9"));
  EXPECT_EQ(of_members([](auto& r) { r.set_page_size(1001); }),
            InvalidInput("page_size: expected at most 1000, got 1001"));
  EXPECT_THAT(Message(of_members([](auto& r) { r.set_order_by("loss"); })),
              HasSubstr("order_by: expected one of member, state, attempt, top1, worker, or one of "
                        "them with \" desc\", got 'loss'"));
  for (const char* const token : {"s2c0r0", "nonsense", "s1"}) {
    EXPECT_EQ(of_members([&](auto& r) { r.set_page_token(token); }),
              InvalidInput("page_token: not one of an earlier answer about this sweep"));
  }
  EXPECT_THAT(Message(of_members([](auto& r) { r.mutable_selection()->add_members("s2c0r0"); })),
              HasSubstr("expected members of s1, got s2c0r0"));
  EXPECT_THAT(Message(of_members([](auto& r) {
                r.mutable_selection()->add_states(static_cast<v1::MemberState>(0));
              })),
              HasSubstr("selection.states: expected one of MemberState, got 0"));
  v1::ListSweepsRequest sweeps;
  sweeps.set_page_size(1001);
  EXPECT_EQ(asked_.ListSweeps(sweeps).status(),
            InvalidInput("page_size: expected at most 1000, got 1001"));
  sweeps.set_page_size(0);
  sweeps.set_view(static_cast<v1::SweepView>(9));
  EXPECT_EQ(asked_.ListSweeps(sweeps).status(),
            InvalidInput("view: expected one of SweepView, got 9"));
  sweeps.set_view(v1::SWEEP_VIEW_FULL);
  sweeps.set_page_token("nonsense");
  EXPECT_EQ(asked_.ListSweeps(sweeps).status(),
            InvalidInput("page_token: not one of an earlier answer"));
  EXPECT_EQ(QuestionFrom(v1::GetStudyRequest()).status(),
            InvalidInput("form: expected JSON, TABLES, CSV, PAGE or INPUT"));
}

TEST_F(QuestionsTest, StatesAreAskedForByListAndAlone) {
  v1::ListMembersRequest request;
  request.set_state(v1::MEMBER_STATE_DONE);
  EXPECT_EQ(asked_.ListMembers(request)->members_size(), 6);
  request.mutable_selection()->add_states(v1::MEMBER_STATE_WAITING);
  EXPECT_EQ(asked_.ListMembers(request)->members_size(), 12);
  request.mutable_selection()->add_cells(0);
  request.mutable_selection()->add_plans("control");
  EXPECT_EQ(asked_.ListMembers(request)->members_size(), 3);
}

}  // namespace
}  // namespace noisefloor
