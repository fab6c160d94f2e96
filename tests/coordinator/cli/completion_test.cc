// The script is tried in bash itself, as a person's TAB would.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Bash {
 public:
  Bash() : script_(line_.home() + "/completion") {
    const Printed printed = line_.Run({"completion", "bash"});
    EXPECT_EQ(printed.code, kDone) << printed.err;
    std::ofstream(script_) << printed.out;
  }

  // What TAB offers after `typed`.
  std::set<std::string> Complete(const std::string& typed) {
    const std::string program = line_.home() + "/ask";
    std::ofstream(program) << "cd " << line_.home() << "\nsource " << script_ << "\nCOMP_LINE="
                           << "'" << typed << "'\n"
                           << "COMP_POINT=${#COMP_LINE}\n_noisefloor || exit 9\n"
                           << "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    FILE* pipe = popen(("bash --norc " + program + " 2>&1").c_str(), "r");
    std::string text;
    char buffer[4096];
    while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
    EXPECT_EQ(pclose(pipe), 0) << text;
    std::set<std::string> offers;
    std::istringstream lines(text);
    for (std::string offer; std::getline(lines, offer);) {
      if (!offer.empty()) offers.insert(offer);
    }
    return offers;
  }

  const std::string& home() const { return line_.home(); }

 private:
  CommandLine line_;
  std::string script_;
};

TEST(Completion, OffersEveryCommand) {
  Bash bash;
  const std::set<std::string> offers = bash.Complete("noisefloor ");
  for (const auto& command : AllCommands()) {
    EXPECT_THAT(offers, Contains(std::string(command->Name())));
  }
  EXPECT_EQ(offers.size(), AllCommands().size());
}

TEST(Completion, OffersTheCommandsThatBeginSo) {
  Bash bash;
  EXPECT_THAT(bash.Complete("noisefloor re"), UnorderedElementsAre("report", "retry", "replay"));
}

TEST(Completion, OffersTheFlagsOfTheCommandAndTheGlobalOnes) {
  Bash bash;
  const std::set<std::string> offers = bash.Complete("noisefloor run --");
  EXPECT_THAT(offers, IsSupersetOf({"--again", "--slots=", "--data-root=", "--home="}));
  EXPECT_THAT(offers, Not(Contains("--state=")));
  EXPECT_THAT(bash.Complete("noisefloor --home=x members --st"), UnorderedElementsAre("--state="));
}

TEST(Completion, OffersCommandsBelowCommands) {
  Bash bash;
  EXPECT_THAT(bash.Complete("noisefloor data "), UnorderedElementsAre("get", "list", "verify"));
  EXPECT_THAT(bash.Complete("noisefloor data get --fr"), UnorderedElementsAre("--from="));
}

TEST(Completion, OffersFilesWhereAFileGoes) {
  Bash bash;
  std::ofstream(bash.home() + "/sweep.yaml") << "x";
  EXPECT_THAT(bash.Complete("noisefloor run sw"), UnorderedElementsAre("sweep.yaml"));
  EXPECT_THAT(bash.Complete("noisefloor run --report=sw"), UnorderedElementsAre("sweep.yaml"));
}

}  // namespace
}  // namespace noisefloor::cli
