#include "tests/tidy/source_tree.h"

#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor::tidy {
namespace {

using ::testing::ElementsAre;

// A small checkout, with what a build and a study leave.
void Fill(const Scratch& checkout) {
  for (const char* folder : {"common", "build", "out"}) {
    std::filesystem::create_directory(checkout.Path(folder));
  }
  (void)checkout.Put(".gitignore", "/build/\n/out/\n");
  (void)checkout.Put("common/a.cc", "tracked");
  (void)checkout.Put("common/new file.cc", "not added yet");
  (void)checkout.Put("build/a.o", "built");
  (void)checkout.Put("out/weights", "exported");
}

int Git(const Scratch& checkout, const std::string& arguments) {
  const std::string git = "env -u GIT_DIR -u GIT_INDEX_FILE -u GIT_WORK_TREE git -C ";
  return std::system((git + checkout.folder() + " " + arguments).c_str());
}

TEST(SourceTreeTest, GitSaysWhatBelongsToTheCheckout) {
  const Scratch checkout;
  Fill(checkout);
  (void)checkout.Put("common/removed.cc", "tracked");
  ASSERT_EQ(Git(checkout, "init -q"), 0);
  ASSERT_EQ(Git(checkout, "add common/a.cc common/removed.cc"), 0);
  std::filesystem::remove(checkout.Path("common/removed.cc"));

  EXPECT_THAT(PathsUnder(checkout.folder()),
              ElementsAre(".gitignore", "common/a.cc", "common/new file.cc"));
}

TEST(SourceTreeTest, WithoutGitAllButBuildFoldersBelongsToIt) {
  const Scratch checkout;
  Fill(checkout);

  EXPECT_THAT(PathsUnder(checkout.folder()),
              ElementsAre(".gitignore", "common/a.cc", "common/new file.cc", "out/weights"));
}

}  // namespace
}  // namespace noisefloor::tidy
