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
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Words = std::set<std::string>;

// What bash is given back, and how it was asked to treat it.
struct Offers {
  Words words;
  Words options;  // "filenames": quote as files are, "/" behind folders; "nospace".
};

class Bash {
 public:
  Bash() : script_(line_.home() + "/completion"), folder_(line_.home() + "/folder") {
    std::filesystem::create_directories(folder_);
    const Printed printed = line_.Run({"completion", "bash"});
    EXPECT_EQ(printed.code, kDone) << printed.err;
    std::ofstream(script_) << printed.out;
  }

  // What TAB offers after `typed`, where bash parts words at blanks and at each of `breaks`.
  Offers Complete(const std::string& typed, const std::string& breaks = "=:") {
    const std::vector<std::string> words = Parted(typed, breaks);
    const std::string program = line_.home() + "/ask";
    std::ofstream file(program);
    file << "cd " << folder_ << "\nsource " << script_
         << "\ncompopt() { echo \"+$2\"; }\nCOMP_WORDBREAKS=' " << breaks << "'\nCOMP_WORDS=(";
    for (const std::string& word : words) file << "'" << word << "' ";
    file << ")\nCOMP_CWORD=" << words.size() - 1
         << "\n_noisefloor || exit 9\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    file.close();
    return Ask(program);
  }
  Words WordsFor(const std::string& typed) { return Complete(typed).words; }

  const std::string& folder() const { return folder_; }

 private:
  // As readline does: a run of the breaking characters is a word of its own.
  static std::vector<std::string> Parted(const std::string& typed, const std::string& breaks) {
    std::vector<std::string> words = {""};
    bool broken = false;
    for (const char c : typed) {
      const bool breaks_here = breaks.find(c) != std::string::npos;
      if (c == ' ' || (breaks_here != broken && !words.back().empty())) words.emplace_back();
      if (c != ' ') words.back() += c;
      broken = c != ' ' && breaks_here;
    }
    return words;
  }

  static Offers Ask(const std::string& program) {
    FILE* pipe = popen(("bash --norc " + program + " 2>&1").c_str(), "r");
    std::string text;
    char buffer[4096];
    while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
    EXPECT_EQ(pclose(pipe), 0) << text;
    Offers offers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("+")) {
        offers.options.insert(line.substr(1));
      } else if (!line.empty()) {
        offers.words.insert(line);
      }
    }
    return offers;
  }

  CommandLine line_;
  std::string script_;
  std::string folder_;
};

TEST(Completion, OffersEveryCommand) {
  Bash bash;
  const Words offers = bash.WordsFor("noisefloor ");
  for (const auto& command : AllCommands()) {
    EXPECT_THAT(offers, Contains(std::string(command->Name())));
  }
  EXPECT_THAT(offers, SizeIs(AllCommands().size()));
}

TEST(Completion, OffersTheCommandsThatBeginSo) {
  Bash bash;
  EXPECT_THAT(bash.WordsFor("noisefloor re"),
              UnorderedElementsAre("report", "retry", "replay", "resume", "release", "restore"));
}

TEST(Completion, OffersACommandThoughAFolderHasItsName) {
  Bash bash;
  std::filesystem::create_directories(bash.folder() + "/data");
  const Offers offers = bash.Complete("noisefloor da");
  EXPECT_THAT(offers.words, UnorderedElementsAre("data"));
  EXPECT_THAT(offers.options, IsEmpty()) << "else bash adds the slash of the folder";
}

TEST(Completion, OffersTheFlagsOfTheCommandAndTheGlobalOnes) {
  Bash bash;
  const Words offers = bash.WordsFor("noisefloor run --");
  EXPECT_THAT(offers, IsSupersetOf({"--again", "--slots=", "--data-root=", "--home="}));
  EXPECT_THAT(offers, Not(Contains("--state=")));
  EXPECT_THAT(bash.WordsFor("noisefloor --home=x members --sta"),
              UnorderedElementsAre("--state=", "--stack="));
  EXPECT_THAT(bash.WordsFor("noisefloor members --sw"), IsEmpty()) << "hidden";
}

TEST(Completion, LeavesTheEqualsSignAsItIs) {
  Bash bash;
  const Offers offers = bash.Complete("noisefloor run --sl");
  EXPECT_THAT(offers.words, UnorderedElementsAre("--slots="));
  EXPECT_THAT(offers.options, UnorderedElementsAre("nospace"))
      << "as the name of a file it would be escaped";
  EXPECT_THAT(bash.WordsFor("noisefloor run --slots="), IsEmpty());
}

TEST(Completion, OffersCommandsBelowCommands) {
  Bash bash;
  EXPECT_THAT(bash.WordsFor("noisefloor data "), UnorderedElementsAre("get", "list", "verify"));
  EXPECT_THAT(bash.WordsFor("noisefloor data get --fr"), UnorderedElementsAre("--from="));
}

TEST(Completion, OffersTheChoicesOfAnOptionHoweverBashPartsTheWord) {
  Bash bash;
  EXPECT_THAT(bash.WordsFor("noisefloor status --output="), UnorderedElementsAre("json", "table"));
  EXPECT_THAT(bash.WordsFor("noisefloor status --output=j"), UnorderedElementsAre("json"));
  EXPECT_THAT(bash.WordsFor("noisefloor status --output t"), UnorderedElementsAre("table"));
  EXPECT_THAT(bash.Complete("noisefloor status --output=j", ":").words,
              UnorderedElementsAre("--output=json"));
  EXPECT_THAT(bash.WordsFor("noisefloor report s1 --form="),
              UnorderedElementsAre("tables", "json", "csv", "page"));
  EXPECT_THAT(bash.WordsFor("noisefloor members --state=d"),
              UnorderedElementsAre("done", "diverged"));
}

TEST(Completion, OffersTheChoicesOfAPositional) {
  Bash bash;
  EXPECT_THAT(bash.WordsFor("noisefloor completion "), UnorderedElementsAre("bash"));
  EXPECT_THAT(bash.WordsFor("noisefloor --output json completion "), UnorderedElementsAre("bash"));
  EXPECT_THAT(bash.WordsFor("noisefloor completion bash "), IsEmpty());
  EXPECT_THAT(bash.WordsFor("noisefloor data get c"), UnorderedElementsAre("cifar10"));
}

// Another program of that name stands in: which ids it prints is tested below.
TEST(Completion, AsksTheProgramForIdsWithWhereItShallLook) {
  Bash bash;
  const std::string program = bash.folder() + "/noisefloor";
  std::ofstream(program) << "#!/bin/sh\nprintf '%s\\n' \"$*\" > " << program
                         << ".asked\necho s1; echo s2; echo s12\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_THAT(bash.WordsFor(program + " report s1"), UnorderedElementsAre("s1", "s12"));
  EXPECT_THAT(bash.WordsFor(program + " --home=x cancel "),
              UnorderedElementsAre("s1", "s2", "s12"));
  std::string asked;
  std::getline(std::ifstream(program + ".asked"), asked);
  EXPECT_EQ(asked, "completion bash --ids= --home=x");
  EXPECT_THAT(bash.WordsFor(program + " explain --coordinator a:1 s2"), UnorderedElementsAre("s2"));
  std::getline(std::ifstream(program + ".asked"), asked);
  EXPECT_EQ(asked, "completion bash --ids=s2 --coordinator=a:1");
}

TEST(Completion, IdsAreThoseOfSweepsAndOfTheMembersOfOne) {
  CannedAnswers answers;
  answers.sweeps.emplace_back().set_id(3);
  for (const char* id : {"s3c0r0", "s3c0r1", "s3c1r0"}) answers.members.emplace_back().set_id(id);
  CommandLine line(answers);
  EXPECT_EQ(line.Run({"completion", "bash", "--ids=s"}).out, "s3\n");
  EXPECT_EQ(line.Run({"completion", "bash", "--ids=s3c"}).out, "s3c0r0\ns3c0r1\ns3c1r0\n");
  EXPECT_EQ(line.Run({"completion", "bash", "--ids=s3c0r"}).out, "s3c0r0\ns3c0r1\n");
  EXPECT_EQ(line.Run({"completion", "bash", "--ids=xc"}).out, "");
}

TEST(Completion, OffersFilesWhereAFileGoes) {
  Bash bash;
  std::ofstream(bash.folder() + "/sweep.yaml") << "x";
  std::filesystem::create_directories(bash.folder() + "/sweeps");
  for (const std::string typed : {"noisefloor run sw", "noisefloor run --report=sw",
                                  "noisefloor --home x run --slots=2 sw"}) {
    const Offers offers = bash.Complete(typed);
    EXPECT_THAT(offers.words, UnorderedElementsAre("sweep.yaml", "sweeps")) << typed;
    EXPECT_THAT(offers.options, UnorderedElementsAre("filenames")) << typed;
  }
  EXPECT_THAT(bash.Complete("noisefloor run --report=sweep.", ":").words,
              UnorderedElementsAre("--report=sweep.yaml"));
  EXPECT_THAT(bash.WordsFor("noisefloor status s"), IsEmpty()) << "no file goes here";
}

TEST(Completion, OffersFoldersWhereAFolderGoes) {
  Bash bash;
  std::ofstream(bash.folder() + "/sweep.yaml") << "x";
  std::filesystem::create_directories(bash.folder() + "/sweeps");
  EXPECT_THAT(bash.WordsFor("noisefloor status --home=s"), UnorderedElementsAre("sweeps"));
  EXPECT_THAT(bash.WordsFor("noisefloor run x --data-root=/d:s"), UnorderedElementsAre("sweeps"));
}

}  // namespace
}  // namespace noisefloor::cli
