// Which coordinator is meant, and with which access file it is spoken to.
#include "common/rpc/find_coordinator.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

class FindCoordinatorTest : public ::testing::Test {
 protected:
  FindCoordinatorTest() {
    std::filesystem::create_directory(folder_.path() + "/named");
    Write("/named/worker.access", "box:1");
    Write("/named/reader.access", "box:2");
    Write("/usual", "box:3");
  }
  void Write(const std::string& name, const std::string& address) {
    const absl::Status written = WriteAccessFile(
        folder_.path() + name, {address, "nfl_a_b", "-----BEGIN CERTIFICATE-----\n"});
    EXPECT_TRUE(written.ok()) << written;
  }
  // "ADDRESS FILE" of what was found.
  static std::string Found(const CoordinatorNamed& named) {
    const auto found = FindCoordinator(named);
    if (!found.ok()) return Message(found.status());
    if (!*found) return "none";
    EXPECT_EQ((*found)->access.has_value(), !(*found)->access_path.empty());
    return (*found)->address + " " +
           std::filesystem::path((*found)->access_path).filename().string();
  }
  AccessPlaces Usual() const { return {"", folder_.path() + "/usual"}; }
  AccessPlaces Both() const { return {folder_.path() + "/named", folder_.path() + "/usual"}; }

  TempHome folder_;
};

TEST_F(FindCoordinatorTest, TheFirstThatSaysCounts) {
  EXPECT_EQ(Found({.option = "a:1", .environment = "b:1", .places = Both()}), "a:1 ");
  EXPECT_EQ(Found({.environment = "b:1", .places = Both()}), "b:1 ");
  EXPECT_EQ(Found({.places = Both()}), "box:2 reader.access");
  EXPECT_EQ(Found({.places = Usual()}), "box:3 usual");
  EXPECT_EQ(Found({}), "none");
  EXPECT_EQ(Found({.places = {"", folder_.path() + "/nothing"}}), "none");
}

TEST_F(FindCoordinatorTest, ADataDirectoryCountsWhereItShould) {
  EXPECT_EQ(Found({.option = "a:1", .home_typed = true}), "a:1 ");
  EXPECT_EQ(Found({.environment = "b:1", .places = Both(), .home_typed = true}), "none");
  EXPECT_EQ(Found({.environment = "b:1", .home_there = true}), "b:1 ");
  EXPECT_EQ(Found({.places = Both(), .home_there = true}), "box:2 reader.access");
  EXPECT_EQ(Found({.places = Usual(), .home_there = true}), "none");
}

TEST_F(FindCoordinatorTest, AnAddressHasTheAccessFileThatNamesIt) {
  EXPECT_EQ(Found({.option = "box:2", .places = Both()}), "box:2 reader.access");
  EXPECT_EQ(Found({.option = "box:1", .places = Both()}), "box:1 ") << "that is the workers'";
  EXPECT_EQ(Found({.option = "box:1", .places = Both(), .user = AccessUser::kWorker}),
            "box:1 worker.access");
  EXPECT_EQ(Found({.environment = "box:3", .places = Both()}), "box:3 usual");
}

TEST_F(FindCoordinatorTest, WhatNamedItIsInEveryRefusal) {
  EXPECT_EQ(Found({.option = "box"}), "--coordinator: address 'box': expected HOST:PORT");
  EXPECT_EQ(Found({.environment = "box"}),
            "$NOISEFLOOR_COORDINATOR: address 'box': expected HOST:PORT");
  EXPECT_THAT(Found({.places = {folder_.path() + "/nothing", ""}}),
              HasSubstr("$NOISEFLOOR_ACCESS: " + folder_.path() + "/nothing: no access file"));
  Write("/usual", "box");
  EXPECT_EQ(Found({.places = Usual()}),
            "access file " + folder_.path() + "/usual: address 'box': expected HOST:PORT");
}

}  // namespace
}  // namespace noisefloor
