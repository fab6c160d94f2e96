// Every case of broken_sweeps.txt: exactly these messages, in this order.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/cli/sweep_file.h"

namespace noisefloor::cli {
namespace {

struct Case {
  std::string name;
  std::string yaml;
  std::string messages;
};

std::string WithTabs(std::string line) {
  for (size_t at; (at = line.find("<TAB>")) != std::string::npos;) line.replace(at, 5, "\t");
  return line;
}

std::vector<Case> ReadCases() {
  std::ifstream file(std::string(std::getenv("NOISEFLOOR_SOURCE")) +
                     "/tests/coordinator/cli/broken_sweeps.txt");
  std::vector<Case> cases;
  bool says = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), "", ""});
      says = false;
    } else if (cases.empty()) {
      continue;  // The introduction.
    } else if (line == "--> says") {
      says = true;
    } else {
      (says ? cases.back().messages : cases.back().yaml) += WithTabs(line) + "\n";
    }
  }
  return cases;
}

TEST(BrokenSweeps, AreRefusedWithPlaceAndWhatWasExpected) {
  const std::vector<Case> cases = ReadCases();
  EXPECT_GE(cases.size(), 45u);
  for (const Case& broken : cases) {
    const auto sweep = ParseSweep(broken.yaml, "f.yaml");
    ASSERT_FALSE(sweep.ok()) << broken.name;
    EXPECT_TRUE(absl::IsInvalidArgument(sweep.status())) << broken.name;
    EXPECT_EQ(Message(sweep.status()) + "\n", broken.messages) << broken.name;
  }
}

}  // namespace
}  // namespace noisefloor::cli
