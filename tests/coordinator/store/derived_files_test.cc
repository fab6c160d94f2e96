#include "coordinator/store/derived_files.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/directory.h"
#include "coordinator/store/blob_store.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kFirst = "0a" + std::string(62, '1');
const std::string kSecond = "0a" + std::string(62, '2');

class DerivedFilesTest : public ::testing::Test {
 protected:
  TempHome home_;
  const DerivedFiles files_ = DerivedFiles::At(home_.path());
};

TEST_F(DerivedFilesTest, WhatIsKeptIsReadUntilItIsReplacedOrRemoved) {
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kFirst).status()));
  ASSERT_TRUE(files_.Keep(kFirst, "one").ok());
  ASSERT_TRUE(files_.Keep(kSecond, "other").ok());
  EXPECT_EQ(*files_.Read(kFirst), "one");
  ASSERT_TRUE(files_.Keep(kFirst, "two").ok());
  EXPECT_EQ(*files_.Read(kFirst), "two");
  EXPECT_EQ(*ReadFile(home_.path() + "/digests/0a/" + std::string(62, '2'), 100), "other");

  ASSERT_TRUE(files_.Remove(kFirst).ok());
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kFirst).status()));
  EXPECT_TRUE(files_.Remove(kFirst).ok()) << "there is none any more";
  EXPECT_EQ(*files_.Read(kSecond), "other");
}

TEST_F(DerivedFilesTest, NamesOfAFolderLeaveOutWhatIsOnItsWay) {
  EXPECT_THAT(*files_.NamesIn(0x0a), IsEmpty()) << "no folder yet";
  ASSERT_TRUE(files_.Keep(kSecond, "2").ok());
  ASSERT_TRUE(files_.Keep(kFirst, "1").ok());
  const std::string aside = home_.path() + "/digests/0a/" + std::string(62, '1') + ".aside-abc123";
  std::ofstream(aside) << "half";
  EXPECT_THAT(*files_.NamesIn(0x0a), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(*files_.NamesIn(0x0b), IsEmpty());

  ASSERT_TRUE(files_.RemoveLeftovers().ok());

  EXPECT_FALSE(ReadFile(aside, 100).ok());
  EXPECT_THAT(*files_.NamesIn(0x0a), ElementsAre(kFirst, kSecond));
}

TEST_F(DerivedFilesTest, WhatCannotBeWrittenLeavesNothingAside) {
  ASSERT_TRUE(files_.Keep(kFirst, "1").ok());
  // A folder where the file should go: the rename fails.
  const std::string path = home_.path() + "/digests/0a/" + std::string(62, '2');
  ASSERT_TRUE(CreateDirectories(path + "/in the way").ok());

  EXPECT_FALSE(files_.Keep(kSecond, "2").ok());

  EXPECT_EQ(ListFiles(home_.path() + "/digests/0a")->size(), 1u);
}

TEST_F(DerivedFilesTest, NamesThatAreNoHashesNeverBecomePaths) {
  for (const std::string name : {"", "..", "../../x", "0A"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Read(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Keep(name, "x"))) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Remove(name))) << name;
  }
  EXPECT_TRUE(files_.RemoveLeftovers().ok()) << "where nothing was kept";
}

}  // namespace
}  // namespace noisefloor
