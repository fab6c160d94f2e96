// A full disk under a whole coordinator: what is asked is answered at once and truly, and every
// answer that a person looks at says what is the matter.
#include "tests/support/full_disk.h"

#include <filesystem>
#include <optional>

#include "common/files/sha256.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FullDiskTest : public CoordinatorTest {
 protected:
  std::string InGetSweep() {
    return Call(&People::GetSweep, v1::GetSweepRequest())->storage_problem();
  }
  std::string InListSweeps() {
    return Call(&People::ListSweeps, v1::ListSweepsRequest())->storage_problem();
  }
  std::string InListWorkers() {
    return Call(&People::ListWorkers, v1::ListWorkersRequest())->storage_problem();
  }
  std::string InPlan() {
    v1::PlanSweepRequest request;
    *request.mutable_sweep() = SmallSweep("planned", 1);
    return Call(&People::PlanSweep, request)->storage_problem();
  }

  std::optional<FullDisk> full_;
};

TEST_F(FullDiskTest, ASubmitIsRefusedAtOnceAndNeverKept) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  const uint64_t lease = worker.Started().lease_id();
  full_.emplace(home_.path());

  const auto refused = Submit(SmallSweep("second", 1), "id");

  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(refused.status())),
              HasSubstr("this was not done, and nothing can be kept at present: "));
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  EXPECT_EQ(Call(&People::CancelSweep, cancel).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_LEASED);
  const auto workers = Call(&People::ListWorkers, v1::ListWorkersRequest());
  ASSERT_EQ(workers->workers_size(), 1);
  EXPECT_THAT(workers->workers(0).running(), testing::ElementsAre("s1c0r0"));

  full_.reset();
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));
  while (!InGetSweep().empty()) {
  }
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));  // As it would: until it is settled.
  EXPECT_TRUE(worker.Settled().accepted());
  const auto again = Submit(SmallSweep("second", 1), "id");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->sweep_id(), 2u);
  EXPECT_EQ(Call(&People::ListSweeps, v1::ListSweepsRequest())->sweeps_size(), 2);
}

// The rows still fit, the files do not.
TEST_F(FullDiskTest, AFileThatCannotBeKeptIsSaidUntilOneCan) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  const uint64_t lease = worker.Started().lease_id();
  const std::string content = "predictions";
  const std::string sha256 = Sha256Hex(content);
  const std::vector<v1::UploadRequest> parts = {UploadHeader(lease, sha256, content.size()),
                                                Piece(content)};
  const std::string folder = home_.path() + "/blobs/" + sha256.substr(0, 2);
  std::filesystem::rename(folder, folder + ".away");

  EXPECT_FALSE(Upload(*workers_, parts).ok());
  EXPECT_THAT(InGetSweep(), HasSubstr("an uploaded file: " + folder));
  EXPECT_EQ(Upload(*workers_, {Piece(content)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(InListWorkers(), HasSubstr("an uploaded file: ")) << "a worker's mistake mends none";
  const std::vector<v1::UploadRequest> of_nobody = {UploadHeader(99, sha256, content.size())};
  EXPECT_EQ(Upload(*workers_, of_nobody).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(InListWorkers(), HasSubstr(folder)) << "nor does one that comes too late";

  std::filesystem::rename(folder + ".away", folder);
  EXPECT_TRUE(Upload(*workers_, parts).ok());
  EXPECT_EQ(InGetSweep(), "");
  EXPECT_FALSE(Upload(*workers_, of_nobody).ok());
  EXPECT_EQ(InGetSweep(), "");
}

// Else it would be said for as long as nobody has another file.
TEST_F(FullDiskTest, AFileThatNobodyOffersAgainIsNoProblemAnyMore) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  const uint64_t lease = worker.Started().lease_id();
  const std::string content = "predictions";
  const std::string sha256 = Sha256Hex(content);
  const std::string folder = home_.path() + "/blobs/" + sha256.substr(0, 2);
  std::filesystem::rename(folder, folder + ".away");
  const auto send = [&](uint64_t of) {
    return Upload(*workers_, {UploadHeader(of, sha256, content.size()), Piece(content)}).ok();
  };
  EXPECT_FALSE(send(lease));
  ASSERT_THAT(InGetSweep(), HasSubstr("an uploaded file: "));

  worker.SayHeld({lease});
  worker.SayHeld({});
  const uint64_t next = worker.Started().lease_id();

  EXPECT_EQ(InGetSweep(), "") << "its lease is lost";
  EXPECT_FALSE(send(next));
  EXPECT_THAT(InGetSweep(), HasSubstr("an uploaded file: ")) << "the same problem, of another";
  std::filesystem::rename(folder + ".away", folder);
}

TEST_F(FullDiskTest, EveryAnswerThatAPersonLooksAtSaysIt) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(InGetSweep() + InListSweeps() + InListWorkers() + InPlan(), "");
  full_.emplace(home_.path());
  ASSERT_FALSE(Submit(SmallSweep("second", 1)).ok());

  for (const std::string& said : {InGetSweep(), InListSweeps(), InListWorkers(), InPlan()}) {
    EXPECT_THAT(said, HasSubstr("writing to the store: "));
  }

  full_.reset();
  while (!InGetSweep().empty()) {
  }
  EXPECT_EQ(InListSweeps() + InListWorkers() + InPlan(), "");
}

TEST_F(FullDiskTest, AWatchSaysWhenItBeginsAndWhenItIsOver) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  const auto watch = people_->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(watch->Read(&news));
  EXPECT_THAT(news.storage_problem(), IsEmpty());

  full_.emplace(home_.path());
  ASSERT_FALSE(Submit(SmallSweep("second", 1)).ok());
  ASSERT_TRUE(watch->Read(&news));
  EXPECT_THAT(news.storage_problem(), Not(IsEmpty()));

  full_.reset();
  ASSERT_TRUE(watch->Read(&news));
  EXPECT_THAT(news.storage_problem(), IsEmpty());
  context.TryCancel();
  (void)watch->Finish();
}

}  // namespace
}  // namespace noisefloor::test
