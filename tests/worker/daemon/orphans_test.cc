#include "worker/daemon/orphans.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "worker/daemon/leftovers.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string NameOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// The number of a process that a shell started, in a session of its own, and left to us.
int MakeOrphan(const std::string& trainer) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  SpawnRequest request;
  request.arguments = {"/bin/sh", "-c", "setsid sleep infinity >/dev/null & echo $!"};
  request.environment = InheritedEnvironment();
  request.environment[kTrainerVariable] = trainer;
  request.output = ends[1];
  const auto shell = Spawn(request);
  EXPECT_TRUE(shell.ok()) << shell.status();
  close(ends[1]);
  std::array<char, 32> text{};
  EXPECT_GT(read(ends[0], text.data(), text.size() - 1), 0);
  close(ends[0]);
  pollfd wait = {shell->pidfd, POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 60000), 1);
  (void)Reap(*shell);
  close(shell->pidfd);
  // While it becomes `sleep` it has no environment for a moment, after its name has changed.
  const int orphan = std::stoi(text.data());
  while (kill(orphan, 0) == 0 && NameOf(orphan) != "sleep") sched_yield();
  while (kill(orphan, 0) == 0 && !CarriesVariable(orphan, kTrainerVariable, trainer)) sched_yield();
  return orphan;
}

TEST(OrphansTest, AreEndedWhenTheTrainerTheyComeFromHasGone) {
  ASSERT_TRUE(AdoptOrphans().ok());
  const int orphan = MakeOrphan("12");

  EXPECT_THAT(EndOrphans({}, {"1", "12"}), IsEmpty()) << "its trainer lives";
  EXPECT_EQ(kill(orphan, 0), 0);
  EXPECT_THAT(EndOrphans({orphan}, {}), IsEmpty()) << "it is no orphan";
  EXPECT_EQ(kill(orphan, 0), 0);
  EXPECT_THAT(EndOrphans({}, {"1", "2"}), ElementsAre(orphan));
  EXPECT_NE(kill(orphan, 0), 0) << "nor is it left as a zombie";
}

}  // namespace
}  // namespace noisefloor
