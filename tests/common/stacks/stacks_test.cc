// What stacks there are, and when one of a machine counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/stacks/installed_stack.h"
#include "common/trainer_protocol/fields.h"
#include "tests/support/variable.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

using testing::Contains;
using testing::HasSubstr;
using testing::MatchesRegex;

class StacksTest : public testing::Test {
 protected:
  StacksTest() {
    std::string pattern = testing::TempDir() + "nf-stacks-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Put("bin/noisefloor-trainer-torch-2.7-cu126", "program");
    Put("stack/torch/lib/libtorch_cpu.so", "library");
    Put("stack/.libtorch", PackagesOf(Stack()));
  }
  ~StacksTest() override { fs::remove_all(folder_); }

  static const KnownStack& Stack() { return *FindKnownStack("torch-2.7-cu126"); }
  std::string At(const std::string& path) const { return folder_ + "/" + path; }
  void Put(const std::string& path, const std::string& content) const {
    fs::create_directories(fs::path(At(path)).parent_path());
    std::ofstream(At(path)) << content;
  }
  std::string Content(const std::string& path) const {
    std::ifstream file(At(path));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  absl::Status Place() const { return PlaceTrainer(At("bin"), At("stack"), Stack()); }

  std::string folder_;
};

TEST(KnownStacksTest, AreThoseThatASweepMayNameAndPinEveryPackage) {
  EXPECT_EQ(KnownStacks().size(), kOwnStacks.size());
  for (const KnownStack& stack : KnownStacks()) {
    EXPECT_THAT(kOwnStacks, Contains(std::string_view(stack.name)));
    EXPECT_EQ(FindKnownStack(stack.name), &stack);
    EXPECT_THAT(stack.name, HasSubstr(stack.libtorch.substr(0, stack.libtorch.rfind('.'))));
    EXPECT_GT(stack.megabytes, 100);
    EXPECT_THAT(stack.architectures, testing::Each(MatchesRegex("sm_[0-9]+")));
    EXPECT_TRUE(PackagesOf(stack).starts_with("torch==" + stack.libtorch + "\n"));
    const std::string packages = PackagesOf(stack);
    size_t hashes = 0;
    for (size_t at = 0; (at = stack.lock.find(" --hash=sha256:", at)) != stack.lock.npos; ++at) {
      ++hashes;
    }
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(packages, '\n')), hashes) << stack.name;
  }
  EXPECT_NE(FindKnownStack(DefaultStack()), nullptr);
  EXPECT_EQ(FindKnownStack("torch-1.0"), nullptr);
}

TEST(KnownStacksTest, ATrainerIsNamedAfterItsStackUnlessItIsTheDefault) {
  EXPECT_EQ(TrainerBeside("/opt/bin", DefaultStack()), "/opt/bin/noisefloor-trainer");
  EXPECT_EQ(TrainerBeside("/opt/bin", "torch-2.7-cu126"),
            "/opt/bin/noisefloor-trainer-torch-2.7-cu126");
  EXPECT_EQ(StacksFolder("/cache"), "/cache/stacks");
  const test::Variable home("HOME", "/home/somebody");
  EXPECT_EQ(StacksFolder(""), "/home/somebody/.cache/noisefloor/stacks");
}

TEST_F(StacksTest, ACopyOfTheTrainerIsPutThereAndFollowsAnUpdate) {
  ASSERT_TRUE(Place().ok()) << Place();
  EXPECT_EQ(Content("stack/libexec/noisefloor-trainer"), "program");
  const auto written = fs::last_write_time(At("stack/libexec/noisefloor-trainer"));
  ASSERT_TRUE(Place().ok());
  EXPECT_EQ(fs::last_write_time(At("stack/libexec/noisefloor-trainer")), written) << "equal";
  Put("bin/noisefloor-trainer-torch-2.7-cu126", "another");
  fs::permissions(At("bin/noisefloor-trainer-torch-2.7-cu126"), fs::perms::owner_exec,
                  fs::perm_options::add);
  std::ifstream runs(At("stack/libexec/noisefloor-trainer"));  // As a member that trains has it.
  ASSERT_TRUE(Place().ok());
  EXPECT_EQ(Content("stack/libexec/noisefloor-trainer"), "another");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(runs), {}), "program");
  EXPECT_NE(
      fs::status(At("stack/libexec/noisefloor-trainer")).permissions() & fs::perms::owner_exec,
      fs::perms::none);
  EXPECT_EQ(std::distance(fs::directory_iterator(At("stack/libexec")), {}), 1) << "nothing beside";
}

TEST_F(StacksTest, AnotherVersionOrHalfAStackDoesNotCount) {
  EXPECT_TRUE(HasLibTorch(At("stack"), Stack()));
  Put("stack/.libtorch", "torch==2.11.0\n");
  EXPECT_FALSE(HasLibTorch(At("stack"), Stack()));
  EXPECT_THAT(std::string(Place().message()),
              HasSubstr("`noisefloor stacks install torch-2.7-cu126` gets it"));
  Put("stack/.libtorch", PackagesOf(Stack()));
  fs::remove(At("stack/torch/lib/libtorch_cpu.so"));
  EXPECT_FALSE(HasLibTorch(At("stack"), Stack()));
  Put("stack/torch/lib/libtorch_cpu.so", "library");
  fs::remove(At("bin/noisefloor-trainer-torch-2.7-cu126"));
  EXPECT_THAT(std::string(Place().message()), HasSubstr("was built without that stack"));
}

}  // namespace
}  // namespace noisefloor
