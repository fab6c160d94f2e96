// A trainer whose file is replaced while the worker runs.
#include <fstream>

#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

// Describes itself as it was when the worker started, and trains as another build.
void WriteReplacedTrainer(const std::string& path) {
  std::ofstream(path) << "#!/bin/sh\n"
                      << "if [ \"$1\" = --describe ]; then\n"
                      << R"(  echo '{"protocol":1,"stack":"fake","build":"the-old-build",)"
                      << R"("environment":{},"probes":1,"fingerprint":"f"}')"
                      << "\n"
                      << "elif [ \"$1\" = --probe ]; then\n"
                      << R"(  echo '{"probes":1,"works":true,"reason":"","devices":[],"facts":{}}')"
                      << "\nelse\n  exec " << FAKE_TRAINER << "\nfi\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_F(DaemonTest, AReplacedTrainerIsRefusedByNameAndTheWorkerLeaves) {
  trainer_ = folder_ + "/trainer";
  WriteReplacedTrainer(trainer_);
  log_ = folder_ + "/log";
  StartDaemon();
  EXPECT_EQ(Registered().inventory().offers(0).build(), "the-old-build");

  Start(Member(7, "wait"));

  EXPECT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_EQ(finished.outcome().message(),
            "the trainer of stack 'fake' was replaced: its build is fake-build, this worker knows "
            "the-old-build; start the worker again");
  EXPECT_EQ(daemon_->Wait(), 1);
}

}  // namespace
}  // namespace noisefloor
