// Watches as server-sent events.
#include <algorithm>

#include "google/protobuf/util/json_util.h"

#include "tests/coordinator/live/live_fixture.h"

namespace noisefloor::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

class LiveEventsTest : public LiveTest {
 protected:
  template <typename Proto>
  static Proto Parsed(const Event& event) {
    Proto message;
    EXPECT_EQ(event.name, "message");
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(event.data, &message).ok())
        << event.data;
    return message;
  }
  void SetPriority(int priority) {
    v1::UpdateSweepRequest update;
    update.set_sweep_id(1);
    update.set_priority(priority);
    ASSERT_TRUE(Call(&People::UpdateSweep, update).ok());
  }
  void CancelSweep() {
    v1::CancelSweepRequest cancel;
    cancel.set_sweep_id(1);
    ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  }
  // Reads until an event that `is_it` came; the id of that message.
  template <typename Proto, typename Is>
  static std::string ReadUntil(EventReader& reader, Is is_it) {
    for (;;) {
      const Event event = reader.Next();
      if (event.name != "message") {
        ADD_FAILURE() << "it ended with " << event.name << " " << event.data;
        return "";
      }
      if (is_it(Parsed<Proto>(event))) return event.id;
    }
  }
  // Counts may come before the event that they are of.
  static Event AfterTheMessages(EventReader& reader) {
    Event event;
    while (event.name == "message") event = reader.Next();
    return event;
  }
  static bool HasPriority(const v1::WatchSweepResponse& news, int priority) {
    return news.sweep().priority() == priority;
  }
};

TEST_F(LiveEventsTest, TheFirstTellsHowItIsAndTheLastThatItHasEnded) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  EventReader reader(page_, "/api/WatchSweep?sweep_id=1");
  EXPECT_EQ(reader.head().status, 200);
  EXPECT_EQ(reader.head().Header("content-type"), "text/event-stream");
  EXPECT_EQ(reader.head().Header("cache-control"), "no-store");
  const Event first = reader.Next();
  const auto news = Parsed<v1::WatchSweepResponse>(first);
  EXPECT_EQ(news.sweep().waiting(), 2u);
  EXPECT_EQ(news.sweep().name(), "a");
  EXPECT_EQ(news.sweep().sweep().replicates(), 2u) << "what was submitted, too";
  EXPECT_GT(news.resume_token(), 0u);
  EXPECT_EQ(first.id, std::to_string(news.resume_token()));

  SetPriority(5);
  ReadUntil<v1::WatchSweepResponse>(reader, [](const auto& n) { return HasPriority(n, 5); });
  CancelSweep();
  ReadUntil<v1::WatchSweepResponse>(reader,
                                    [](const auto& n) { return n.sweep().cancelled() == 2; });
  const Event last = AfterTheMessages(reader);
  EXPECT_EQ(last.name, "end");
  EXPECT_EQ(last.data, "{}");
  EXPECT_EQ(last.id, "");
  EXPECT_EQ(reader.Next().name, "");
}

TEST_F(LiveEventsTest, WhoComesAgainIsToldWhatCameLaterAlone) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  std::string seen;
  {
    EventReader reader(page_, "/api/WatchSweep?sweep_id=1");
    reader.Next();
    SetPriority(5);
    seen =
        ReadUntil<v1::WatchSweepResponse>(reader, [](const auto& n) { return HasPriority(n, 5); });
  }
  SetPriority(6);
  SetPriority(7);
  EventReader reader(page_, "/api/WatchSweep?sweep_id=1", seen);
  std::vector<uint64_t> numbers;
  std::vector<v1::EventKind> kinds;
  const auto note = [&](const v1::WatchSweepResponse& news) {
    for (const v1::Event& event : news.events()) {
      numbers.push_back(event.number());
      kinds.push_back(event.kind());
    }
    return !kinds.empty() && kinds.back() == v1::EVENT_KIND_CANCELLED;
  };
  const Event first = reader.Next();
  note(Parsed<v1::WatchSweepResponse>(first));
  EXPECT_THAT(kinds, ElementsAre(v1::EVENT_KIND_UPDATED, v1::EVENT_KIND_UPDATED));
  CancelSweep();
  ReadUntil<v1::WatchSweepResponse>(reader, note);
  EXPECT_THAT(
      kinds, ElementsAre(v1::EVENT_KIND_UPDATED, v1::EVENT_KIND_UPDATED, v1::EVENT_KIND_CANCELLED));
  EXPECT_THAT(numbers, Each(Gt(std::stoull(seen))));
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  EXPECT_EQ(AfterTheMessages(reader).name, "end");
}

// A browser has it from the address of its first request, and from the header after that.
TEST_F(LiveEventsTest, TheHeaderGoesBeforeTheQuery) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  SetPriority(5);
  EventReader reader(page_, "/api/WatchSweep?sweep_id=1&resume_token=1");
  const Event first = reader.Next();
  EXPECT_EQ(Parsed<v1::WatchSweepResponse>(first).events_size(), 1);
  EventReader again(page_, "/api/WatchSweep?sweep_id=1&resume_token=1", first.id);
  EXPECT_EQ(Parsed<v1::WatchSweepResponse>(again.Next()).events_size(), 0);
}

TEST_F(LiveEventsTest, WhatCannotBeWatchedFails) {
  const auto code_of = [this](const std::string& target) {
    EventReader reader(page_, target);
    EXPECT_EQ(reader.head().status, 200);
    const Event event = reader.Next();
    EXPECT_EQ(event.name, "failed");
    EXPECT_EQ(event.id, "");
    EXPECT_EQ(reader.Next().name, "");
    return ErrorCode(event.data);
  };
  EXPECT_EQ(code_of("/api/WatchSweep?sweep_id=9"), "NOT_FOUND");
  EXPECT_EQ(code_of("/api/WatchSweep"), "INVALID_ARGUMENT");
  EXPECT_EQ(code_of("/api/WatchMember?member=s9c0r0"), "NOT_FOUND");
  EXPECT_EQ(code_of("/api/WatchMember?member=x"), "INVALID_ARGUMENT");
}

TEST_F(LiveEventsTest, AnIdThatIsNoneIsABadRequest) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  for (const char* const id : {"x", "-1", "1:2", "18446744073709551616"}) {
    EventReader reader(page_, "/api/WatchSweep?sweep_id=1", id);
    EXPECT_EQ(reader.head().status, 400) << id;
    EXPECT_THAT(reader.head().Header("content-type"), HasSubstr("application/json"));
  }
  EventReader member(page_, "/api/WatchMember?member=s1c0r0", "7");
  EXPECT_EQ(member.head().status, 400);
}

TEST_F(LiveEventsTest, HeadOpensNoWatch) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  httplib::Client client(page_.address.host, page_.address.port);
  const auto head = client.Head("/api/WatchSweep?sweep_id=1", Bearer(page_.token));
  ASSERT_TRUE(head) << httplib::to_string(head.error());
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->get_header_value("Content-Type"), "text/event-stream");
}

TEST_F(LiveEventsTest, AMemberIsWatchedFromAStepOfALease) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  std::vector<int64_t> steps;
  const auto note = [&](const v1::WatchMemberResponse& news) {
    for (const v1::RecordedValue& value : news.values()) steps.push_back(value.step());
    return !steps.empty() && steps.back() == 2;
  };
  std::string seen;
  {
    EventReader reader(page_, "/api/WatchMember?member=s1c0r0");
    worker.SayRecords(lease, 1);
    worker.SayRecords(lease, 2);
    seen = ReadUntil<v1::WatchMemberResponse>(reader, note);
  }
  EXPECT_THAT(steps, ElementsAre(1, 2));
  EXPECT_EQ(seen, std::to_string(lease) + ":1") << "of the last step more may come";
  EventReader quiet(page_, "/api/WatchMember?member=s1c0r0", std::to_string(lease) + ":2");
  EXPECT_EQ(quiet.Next().id, std::to_string(lease) + ":2") << "nothing was measured since";

  steps.clear();
  EventReader later(page_, "/api/WatchMember?member=s1c0r0", std::to_string(lease) + ":1");
  EXPECT_EQ(ReadUntil<v1::WatchMemberResponse>(later, note), seen);
  EXPECT_THAT(steps, ElementsAre(2));
  worker.SayRecords(lease, 3);
  EXPECT_EQ(ReadUntil<v1::WatchMemberResponse>(
                later, [](const auto& news) { return news.values_size() > 0; }),
            std::to_string(lease) + ":2");
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  EXPECT_EQ(AfterTheMessages(later).name, "end");
}

TEST_F(LiveEventsTest, TheEndOfTheCoordinatorEndsThem) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  std::vector<std::unique_ptr<EventReader>> readers;
  for (int i = 0; i < 5; ++i) {
    readers.push_back(std::make_unique<EventReader>(page_, "/api/WatchSweep?sweep_id=1"));
    EXPECT_EQ(readers.back()->Next().name, "message");
  }
  readers.push_back(std::make_unique<EventReader>(page_, "/api/WatchMember?member=s1c0r0"));
  coordinator_->Stop();
  for (const auto& reader : readers) {
    EXPECT_NE(AfterTheMessages(*reader).name, "end") << "it may be watched again";
  }
  coordinator_.reset();
}

// Whoever left has a call that ends by itself, on a thread of gRPC: it must not outlive the whole.
TEST_F(LiveEventsTest, TheEndMayComeWhileCallsOfThoseWhoLeftEnd) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  for (int i = 0; i < 10; ++i) {
    std::vector<std::unique_ptr<EventReader>> readers;
    for (int k = 0; k < 16; ++k) {
      readers.push_back(std::make_unique<EventReader>(page_, "/api/WatchSweep?sweep_id=1"));
    }
    for (const auto& reader : readers) EXPECT_EQ(reader->Next().name, "message");
    for (int k = 0; k < 8; ++k) readers.pop_back();
    StartWithPage();
  }
}

// News and its end at the same time, again and again.
TEST_F(LiveEventsTest, TheEndMayComeWhileTheyAreTold) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  for (int i = 0; i < 5; ++i) {
    std::vector<std::unique_ptr<EventReader>> readers;
    for (int k = 0; k < 8; ++k) {
      readers.push_back(std::make_unique<EventReader>(page_, "/api/WatchSweep?sweep_id=1"));
    }
    for (const auto& reader : readers) EXPECT_EQ(reader->Next().name, "message");
    std::atomic<bool> stopped = false;
    std::thread changes([&] {
      for (int priority = 0; !stopped; ++priority) {
        v1::UpdateSweepRequest update;
        update.set_sweep_id(1);
        update.set_priority(priority % 1000);
        if (!Call(&People::UpdateSweep, update).ok()) return;
      }
    });
    EXPECT_EQ(readers.front()->Next().name, "message");
    coordinator_->Stop();
    stopped = true;
    changes.join();
    readers.clear();
    StartWithPage();
  }
}

}  // namespace
}  // namespace noisefloor::test
