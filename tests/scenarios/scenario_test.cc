// Every story of this folder has the answers that the scheduler gives. To write new answers down,
// run this program with --update and read the difference.
#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

std::vector<std::filesystem::path> Stories() {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  std::vector<std::filesystem::path> stories;
  if (source == nullptr) return stories;
  const auto folder = std::filesystem::path(source) / "tests/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_story =
        entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt";
    if (is_story) stories.push_back(entry.path());
  }
  std::ranges::sort(stories);
  return stories;
}

std::string Read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string NameOf(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string();
}

class Story : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Story, HasTheAnswersThatItTells) {
  const std::string told = Read(GetParam());

  const std::string replayed = Replay(told);

  EXPECT_EQ(replayed, told) << GetParam();
  EXPECT_EQ(replayed.find("\nproblem"), std::string::npos) << replayed;
}

INSTANTIATE_TEST_SUITE_P(Scenario, Story, testing::ValuesIn(Stories()), NameOf);

TEST(Stories, AreThere) { EXPECT_GE(Stories().size(), 20u); }

TEST(Replay, TellsOfACommandThatNobodyKnows) {
  EXPECT_EQ(Replay("dance box\n----\n"),
            "dance box\n----\nproblem: nobody knows the command dance\n");
}

TEST(Replay, TellsTheAnswerThatTheSchedulerGaveInsteadOfAWrongOne) {
  EXPECT_EQ(Replay("cancel s7\n----\nanswer 3 members\n\n"),
            "cancel s7\n----\nanswer refused: there is no sweep s7\n\n");
}

}  // namespace
}  // namespace noisefloor::test

int main(int argc, char** argv) {
  const bool update = argc > 1 && std::string_view(argv[1]) == "--update";
  if (!update) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  for (const auto& path : noisefloor::test::Stories()) {
    const std::string replayed = noisefloor::test::Replay(noisefloor::test::Read(path));
    std::ofstream(path) << replayed;
  }
  return 0;
}
