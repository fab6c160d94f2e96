#include "worker/daemon/uploader.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mailbox.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/rpc/server.h"
#include "tests/support/mini_coordinator.h"
#include "worker/daemon/worker_stub.h"

namespace noisefloor {
namespace {

class CheckArtifactTest : public testing::Test {
 protected:
  CheckArtifactTest() {
    std::string pattern = testing::TempDir() + "nf-artifact-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/work/below");
    std::ofstream(folder_ + "/work/a") << "abc";
    std::ofstream(folder_ + "/work/below/b") << "abc";
    std::ofstream(folder_ + "/secret") << "abc";
    attempt_ = std::make_shared<const AttemptFolder>(AttemptFolder::Open(folder_).value());
  }
  ~CheckArtifactTest() override { std::filesystem::remove_all(folder_); }

  std::string Refusal(const std::string& path, uint64_t size = 3,
                      const std::string& content = "abc") const {
    const Artifact artifact{"kind", path, Sha256Hex(content), size};
    return Message(CheckArtifact(*attempt_, artifact));
  }

  std::string folder_;
  std::shared_ptr<const AttemptFolder> attempt_;  // shared: as an upload has it.
};

TEST_F(CheckArtifactTest, WholeFilesPass) {
  EXPECT_EQ(Refusal("a"), "");
  EXPECT_EQ(Refusal("below/b"), "");
}

TEST_F(CheckArtifactTest, WhatIsNotAsSaidIsNamed) {
  EXPECT_EQ(Refusal("c"), "artifact kind (c): there is no such file");
  EXPECT_EQ(Refusal("below"), "artifact kind (below): not a file");
  EXPECT_EQ(Refusal("a", 4), "artifact kind (a): 3 bytes, and the trainer said 4");
  EXPECT_EQ(Refusal("a", 3, "abd"), "artifact kind (a): SHA-256 " + Sha256Hex("abc") +
                                        ", and the trainer said " + Sha256Hex("abd"));
}

TEST_F(CheckArtifactTest, LinksDoNotLeadOutOfTheFolder) {
  std::filesystem::create_symlink(folder_ + "/secret", folder_ + "/work/file_link");
  std::filesystem::create_symlink(folder_, folder_ + "/work/folder_link");
  EXPECT_EQ(Refusal("file_link"), "artifact kind (file_link): reached through a link");
  EXPECT_EQ(Refusal("folder_link/secret"),
            "artifact kind (folder_link/secret): reached through a link");
}

TEST_F(CheckArtifactTest, TheWorkFolderMayNotBecomeALink) {
  std::filesystem::rename(folder_ + "/work", folder_ + "/away");
  std::filesystem::create_directory_symlink("/proc", folder_ + "/work");
  EXPECT_EQ(Refusal("cpuinfo"), "artifact kind (cpuinfo): reached through a link");
}

TEST_F(CheckArtifactTest, TheFolderIsTheOneThatWasOpenedWhateverItsNameLeadsToNow) {
  std::filesystem::rename(folder_, folder_ + "-away");
  std::filesystem::create_directory_symlink("/proc", folder_);
  EXPECT_EQ(Refusal("a"), "");
  EXPECT_FALSE(AttemptFolder::Open(folder_).ok()) << "nor is a link opened afterwards";
  std::filesystem::remove(folder_);
  std::filesystem::rename(folder_ + "-away", folder_);
}

TEST_F(CheckArtifactTest, OnlyFilesAreOpened) {
  ASSERT_EQ(mkfifo((folder_ + "/work/pipe").c_str(), 0600), 0);
  EXPECT_EQ(Refusal("pipe", 0), "artifact kind (pipe): not a file");
  EXPECT_EQ(Refusal("a/b"), "artifact kind (a/b): there is no such file");
  EXPECT_EQ(Refusal("../secret"), "artifact kind (../secret): outside of its folder");
  EXPECT_EQ(Refusal("below/../../secret"),
            "artifact kind (below/../../secret): outside of its folder");
}

TEST_F(CheckArtifactTest, TheLogIsNotReadThroughALink) {
  EXPECT_EQ(DescribeLog(*attempt_).size, 0u) << "there is none";
  std::filesystem::create_symlink(folder_ + "/secret", folder_ + "/log");
  EXPECT_EQ(DescribeLog(*attempt_).size, 0u);
  std::filesystem::remove(folder_ + "/log");
  std::ofstream(folder_ + "/log") << "words";
  EXPECT_EQ(DescribeLog(*attempt_).size, 5u);
  EXPECT_EQ(DescribeLog(*attempt_).sha256, Sha256Hex("words"));
}

// An uploader with a coordinator, and files of two kinds to bring there.
class UploaderTest : public CheckArtifactTest {
 protected:
  UploaderTest() : done_(16) {
    std::ofstream(folder_ + "/work/one") << "first";
    std::ofstream(folder_ + "/work/two") << "second";
    std::ofstream(folder_ + "/log") << "words";
  }

  void Start(Uploader::Check check = CheckArtifact,
             std::vector<Artifact> artifacts = {{"one", "one", Sha256Hex("first"), 5},
                                                {"two", "two", Sha256Hex("second"), 6}}) {
    stub_.emplace(
        v1::WorkerService::NewStub(MakeChannel(ParseAddress(coordinator_.address()).value())));
    uploader_ = std::make_unique<Uploader>(
        *stub_, clock_, 1, [this](UploadDone done) { (void)done_.Post(std::move(done)); },
        std::move(check));
    uploader_->Add({LeaseId{7}, attempt_, std::move(artifacts)});
  }
  // The kinds that were brought, or the error.
  std::string Done() {
    std::vector<UploadDone> done = done_.TakeAll(absl::Minutes(1));
    if (done.size() != 1) return "nothing";
    if (!done[0].artifacts.ok()) return done[0].artifacts.status().ToString();
    std::string kinds;
    for (const Artifact& artifact : *done[0].artifacts) kinds += artifact.kind + " ";
    return kinds;
  }

  MiniCoordinator coordinator_;
  SystemClock clock_;
  Mailbox<UploadDone> done_;
  std::optional<WorkerStub> stub_;
  std::unique_ptr<Uploader> uploader_;
};

TEST_F(UploaderTest, EveryFileAndTheLogAreBrought) {
  Start();
  EXPECT_EQ(Done(), "one two log ");
  EXPECT_EQ(coordinator_.uploads().at("two"), "second");
  EXPECT_EQ(coordinator_.uploads().at("log"), "words");
}

TEST_F(UploaderTest, AFullDiskOverThereIsWaitedForHoweverLong) {
  coordinator_.Set({.takes_uploads = false, .refusal = grpc::StatusCode::RESOURCE_EXHAUSTED});
  Start();
  for (int tries = 1; tries <= 50; ++tries) {
    ASSERT_TRUE(coordinator_.WaitForUploadTries(tries));
    uploader_->Wake();  // Instead of waiting for the back-off to pass.
  }

  coordinator_.Set({});
  uploader_->Wake();

  EXPECT_EQ(Done(), "one two log ");
}

TEST_F(UploaderTest, BytesThatAreRefusedAreRefusedForGood) {
  coordinator_.Set({.takes_uploads = false, .refusal = grpc::StatusCode::INVALID_ARGUMENT});
  Start();
  EXPECT_EQ(Done(), "INVALID_ARGUMENT: uploading one: not now");
}

// A coordinator that takes what comes and answers only when it may.
class HoldingCoordinator final : private v1::WorkerService::Service {
 public:
  HoldingCoordinator() : server_(RpcServer::Start({.listen = {"127.0.0.1", 0}}, {this}).value()) {}
  ~HoldingCoordinator() override {
    Answer(grpc::Status::OK);
    server_->Shutdown(absl::ZeroDuration());
  }

  std::string address() const { return ToText(server_->address()); }
  // The files of that kind, and none before it, are held.
  void Hold(const std::string& kind) {
    MutexLock lock(mutex_);
    held_ = kind;
  }
  // So many, one after the other, of one that is tried again.
  bool WaitForHeld(int files = 1) {
    MutexLock lock(mutex_);
    while (held_so_far_ < files && changed_.WaitFor(mutex_, absl::Minutes(1))) {
    }
    return held_so_far_ >= files;
  }
  void Answer(grpc::Status answer) {
    MutexLock lock(mutex_);
    answer_ = std::move(answer);
    changed_.NotifyAll();
  }

 private:
  grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse*) override {
    v1::UploadRequest request;
    if (!reader->Read(&request)) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
    const std::string kind = request.header().kind();
    while (reader->Read(&request)) {
    }
    MutexLock lock(mutex_);
    if (kind != held_) return grpc::Status::OK;
    ++held_so_far_;
    changed_.NotifyAll();
    while (!answer_) changed_.Wait(mutex_);
    return *answer_;
  }

  Mutex mutex_;
  CondVar changed_;
  std::string held_ ABSL_GUARDED_BY(mutex_);
  int held_so_far_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<grpc::Status> answer_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RpcServer> server_;
};

// A coordinator that goes to another home, without the files that it had.
class MovedUploaderTest : public UploaderTest {
 protected:
  ~MovedUploaderTest() override { uploader_.reset(); }

  static std::shared_ptr<v1::WorkerService::Stub> StubOf(const std::string& address) {
    return v1::WorkerService::NewStub(MakeChannel(ParseAddress(address).value()));
  }
  // As a worker that is registered there does.
  void Move() {
    stub_->Follow(StubOf(other_.address()));
    uploader_->Wake();
  }
  std::vector<std::string> KindsThere() {
    std::vector<std::string> kinds;
    for (const auto& [kind, content] : other_.uploads()) kinds.push_back(kind);
    return kinds;
  }
  // Two files and a log go to `first`, which holds those of that kind.
  void Begin(HoldingCoordinator& first, const std::string& kind) {
    first.Hold(kind);
    Start(CheckArtifact, {});
    EXPECT_EQ(Done(), "log ");  // All that it has.
    stub_->Follow(StubOf(first.address()));
    uploader_->Add(
        {LeaseId{8},
         attempt_,
         {{"one", "one", Sha256Hex("first"), 5}, {"two", "two", Sha256Hex("second"), 6}}});
  }
  // The worker hears of the other home while a file of that kind is on its way to the first.
  void MoveWhileOneTravels(const std::string& kind, const grpc::Status& answer) {
    HoldingCoordinator first;
    Begin(first, kind);
    ASSERT_TRUE(first.WaitForHeld());
    Move();
    first.Answer(answer);
    EXPECT_EQ(Done(), "one two log ");
    EXPECT_THAT(KindsThere(), testing::ElementsAre("log", "one", "two"));
  }

  MiniCoordinator other_;
};

TEST_F(MovedUploaderTest, WhatWaitsIsBroughtThereFromItsFirstFile) {
  HoldingCoordinator first;
  first.Answer({grpc::StatusCode::UNAVAILABLE, "not now"});
  Begin(first, "two");
  ASSERT_TRUE(first.WaitForHeld(8));  // It is about to wait for seconds.

  Move();

  EXPECT_EQ(Done(), "one two log ");
  EXPECT_THAT(KindsThere(), testing::ElementsAre("log", "one", "two"));
}

TEST_F(MovedUploaderTest, WhatIsAtHandIsBroughtThereFromItsFirstFile) {
  MoveWhileOneTravels("two", grpc::Status::OK);
}

TEST_F(MovedUploaderTest, SoIsWhatWasAtItsLastFile) {
  MoveWhileOneTravels("log", grpc::Status::OK);
}

TEST_F(MovedUploaderTest, SoIsWhatTheFirstBrokeOff) {
  MoveWhileOneTravels("two", {grpc::StatusCode::UNAVAILABLE, "it goes"});
}

TEST_F(UploaderTest, ManyThatEndTogetherDoNotWaitInLine) {
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  bool met = false;
  const auto meet = [&](const AttemptFolder&, const Artifact&) {
    const absl::Duration give_up = clock_.Steady() + absl::Minutes(1);
    MutexLock lock(mutex);
    met = met || ++inside == Uploader::kUploadThreads;
    changed.NotifyAll();
    while (!met && clock_.Steady() < give_up) changed.WaitFor(mutex, absl::Seconds(1));
    return met ? absl::OkStatus() : InvalidInput("the others were not begun meanwhile");
  };
  const std::vector<Artifact> artifacts = {{"one", "one", Sha256Hex("first"), 5}};
  Start(meet, artifacts);
  for (uint64_t lease = 8; lease < 7 + Uploader::kUploadThreads; ++lease) {
    uploader_->Add({LeaseId{lease}, attempt_, artifacts});
  }
  std::set<uint64_t> brought;
  while (brought.size() < Uploader::kUploadThreads) {
    const std::vector<UploadDone> done = done_.TakeAll(absl::Minutes(1));
    ASSERT_FALSE(done.empty());
    for (const UploadDone& one : done) {
      EXPECT_TRUE(one.artifacts.ok()) << one.artifacts.status();
      brought.insert(one.lease.value);
    }
  }
  EXPECT_EQ(brought, (std::set<uint64_t>{7, 8, 9, 10}));
}

TEST_F(UploaderTest, OneThatMustWaitHoldsUpNoOther) {
  std::promise<void> looked_at;
  std::once_flag first;
  Start([&](const AttemptFolder& folder, const Artifact& artifact) {
    if (artifact.kind != "one") return CheckArtifact(folder, artifact);
    std::call_once(first, [&] { looked_at.set_value(); });
    return absl::Status(absl::UnavailableError("not just now"));
  });
  looked_at.get_future().wait();
  for (uint64_t lease = 8; lease < 20; ++lease) {
    uploader_->Add({LeaseId{lease}, attempt_, {{"two", "two", Sha256Hex("second"), 6}}});
    EXPECT_EQ(Done(), "two log ") << lease;
  }
  uploader_->Cancel(LeaseId{7});
}

TEST(DeadlineForTest, ALargeFileHasTheTimeThatASlowLineTakes) {
  EXPECT_EQ(DeadlineFor(0), absl::Seconds(60));
  EXPECT_EQ(DeadlineFor(uint64_t{1} << 26), absl::Seconds(60 + 1024));
}

TEST_F(UploaderTest, WhatIsCancelledIsNotReportedAndTheOthersAre) {
  Mutex mutex;
  CondVar changed;
  bool inside = false;
  bool go_on = false;
  Start([&](const AttemptFolder& folder, const Artifact& artifact) {
    if (artifact.kind == "two") return CheckArtifact(folder, artifact);
    MutexLock lock(mutex);
    inside = true;
    changed.NotifyAll();
    while (!go_on) changed.Wait(mutex);
    return absl::OkStatus();
  });
  {
    MutexLock lock(mutex);
    while (!inside) changed.Wait(mutex);
  }
  uploader_->Cancel(LeaseId{7});
  {
    MutexLock lock(mutex);
    go_on = true;
    changed.NotifyAll();
  }
  uploader_->Add({LeaseId{8}, attempt_, {{"two", "two", Sha256Hex("second"), 6}}});
  EXPECT_EQ(Done(), "two log ");
  uploader_.reset();  // All of its threads have ended: nothing else comes.
  EXPECT_TRUE(done_.TakeAll(absl::ZeroDuration()).empty());
}

// Each hand of the uploader holds a file until it may go on; one goes on alone.
TEST_F(UploaderTest, WhatIsCancelledWhileItWaitsForItsTurnIsNotBegun) {
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  std::set<std::string> may;
  const auto let = [&](const std::string& kind) {
    MutexLock lock(mutex);
    may.insert(kind);
    changed.NotifyAll();
  };
  const auto hold = [&](const AttemptFolder&, const Artifact& artifact) {
    MutexLock lock(mutex);
    ++inside;
    changed.NotifyAll();
    while (!may.contains(artifact.kind)) changed.Wait(mutex);
    return absl::OkStatus();
  };
  Start(hold, {{"first", "one", Sha256Hex("first"), 5}});
  const std::vector<Artifact> others = {{"others", "two", Sha256Hex("second"), 6}};
  for (uint64_t lease = 8; lease < 7 + Uploader::kUploadThreads; ++lease) {
    uploader_->Add({LeaseId{lease}, attempt_, others});
  }
  {
    MutexLock lock(mutex);
    while (inside < Uploader::kUploadThreads) changed.Wait(mutex);
  }
  uploader_->Add({LeaseId{20}, attempt_, {}});
  uploader_->Add({LeaseId{21}, attempt_, {}});
  uploader_->Cancel(LeaseId{20});
  let("first");

  std::vector<uint64_t> brought;
  while (brought.empty() || brought.back() != 21) {
    const std::vector<UploadDone> done = done_.TakeAll(absl::Minutes(1));
    if (done.empty()) break;
    for (const UploadDone& one : done) brought.push_back(one.lease.value);
  }
  let("others");
  uploader_.reset();  // Nobody holds a file any more.
  EXPECT_EQ(brought, (std::vector<uint64_t>{7, 21}));
}

TEST_F(UploaderTest, ACheckThatFailsForTheMomentBeginsAnew) {
  int checks = 0;
  Start([&](const AttemptFolder& folder, const Artifact& artifact) {
    if (++checks == 2) return absl::Status(absl::UnavailableError("not just now"));
    return CheckArtifact(folder, artifact);
  });
  EXPECT_EQ(Done(), "one two log ");
  EXPECT_EQ(coordinator_.uploads().at("two"), "second");
  EXPECT_EQ(checks, 4);
}

TEST_F(UploaderTest, MoreThanIsTakenIsRefusedBeforeItIsRead) {
  int checks = 0;
  const auto check = [&](const AttemptFolder&, const Artifact&) {
    ++checks;
    return absl::OkStatus();
  };
  Start(check, {{"one", "one", Sha256Hex("first"), kMaxFileBytes + 1}});
  EXPECT_EQ(Done(),
            "INVALID_ARGUMENT: artifact one (one): 4294967297 bytes, and at most 4294967296 are "
            "taken");
  EXPECT_EQ(checks, 0);
}

}  // namespace
}  // namespace noisefloor
