// The rules of the house as a test: each finding says where and what to do instead.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/tidy/include_table.h"
#include "tests/tidy/source_tree.h"

namespace noisefloor::tidy {
namespace {

using Findings = std::vector<Finding>;

size_t LineLimit(const SourceFile& file) {
  if (file.Ends("_test.cc")) return 900;
  if (file.Ends(".h")) return 300;
  if (file.Ends("CMakeLists.txt")) return file.path == "CMakeLists.txt" ? 80 : 60;
  if (file.Ends(".cc") || file.Ends(".cu") || file.Ends(".ts")) return 600;
  return SIZE_MAX;
}

TEST(TidyTest, TheTreeIsFound) { ASSERT_GT(Tree().size(), 50u) << "set NOISEFLOOR_SOURCE"; }

TEST(TidyTest, FilesStayWithinTheirBudget) {
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (file.lines.size() <= LineLimit(file)) continue;
    findings.push_back({file.path, 0,
                        std::to_string(file.lines.size()) + " lines of at most " +
                            std::to_string(LineLimit(file)) + ": divide the room"});
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, LinesStayWithinAHundredColumns) {
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.IsCode()) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const auto columns = std::ranges::count_if(
          file.lines[i], [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
      const bool raw_text = file.lines[i].find("R\"") != std::string::npos;
      if (columns > 100 && !raw_text && !file.Under("tests/")) {
        findings.push_back(
            {file.path, i + 1, std::to_string(columns) + " columns: break the line"});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

// The line that ends what begins on line `first`: a body that opens, or a statement.
size_t EndOfSignature(const std::vector<std::string>& lines, size_t first) {
  size_t last = first;
  const auto ends = [](const std::string& line) {
    return line.empty() || line.ends_with("{") || line.ends_with("}") || line.ends_with(";");
  };
  while (last + 1 < lines.size() && !ends(lines[last])) ++last;
  return last;
}

// A function at namespace level begins on an unindented line whose signature ends in "{", there or
// further down, and ends with "}".
TEST(TidyTest, FunctionsStayWithinSeventyLines) {
  const std::regex not_a_function(
      R"(^(namespace|struct|class|enum|union|extern|constexpr|const|static|inline const|using|\}|//|#).*)");
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.Ends(".cc") || file.Under("tests/")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      const bool starts = !line.empty() && line[0] != ' ' && line.find('(') != std::string::npos &&
                          !std::regex_match(line, not_a_function) &&
                          file.lines[EndOfSignature(file.lines, i)].ends_with("{");
      if (!starts) continue;
      size_t end = i;
      while (end < file.lines.size() && file.lines[end] != "}") ++end;
      if (end - i + 1 > 70) {
        findings.push_back(
            {file.path, i + 1, std::to_string(end - i + 1) + " lines in one function, at most 70"});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

struct Ban {
  std::string pattern;
  std::string instead;
  std::vector<std::string> allowed;  // Prefixes of paths.
  bool in_comments = false;          // Looks there, too.
};

const std::vector<Ban>& Bans() {
  static const std::vector<Ban> bans = {
      {R"(absl::Now\(|::now\(\))",
       "take time as an argument or from Clock",
       {"common/base/clock.cc", "common/rpc/", "tests/bench/"}},
      {R"(std::random_device|std::rand\b|\brand\(\)|mt19937)",
       "draw from a Philox stream",
       {"tests/integration/"}},
      {R"(manual_seed|torch::randn|torch::rand\(|nn::init::)",
       "draw from our streams; LibTorch's generators are never used",
       {}},
      {R"(sleep_for|\busleep\(|[^_]sleep\()", "wait for a condition", {}},
      {R"(\bsystem\(|\bpopen\()",
       "Spawn (worker/daemon/spawn.h) or ChildProcess (coordinator/cli/child_process.h)",
       {"tests/"}},
      {R"(FIXME|TODO|\bXXX\b)", "finish it, or say it in the README's limits", {}, true},
      {R"(\bassert\()", "NF_CHECK for bugs, a Status for input", {}},
      {R"(std::mutex\b|std::condition_variable\b)", "common/base/mutex.h", {"common/base/mutex.h"}},
  };
  return bans;
}

bool IsComment(const std::string& line) {
  const size_t start = line.find_first_not_of(' ');
  return start != std::string::npos && line.compare(start, 2, "//") == 0;
}

TEST(TidyTest, BannedNamesStayOut) {
  Findings findings;
  for (const Ban& ban : Bans()) {
    const std::regex pattern(ban.pattern);
    for (const SourceFile& file : Tree()) {
      const bool allowed = std::ranges::any_of(
          ban.allowed, [&](const std::string& prefix) { return file.Under(prefix); });
      if (!file.IsCode() || allowed || file.Under("tests/tidy/")) continue;
      for (size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        if (IsComment(line) && !ban.in_comments) continue;
        if (!std::regex_search(line, pattern)) continue;
        findings.push_back({file.path, i + 1, "banned here; instead: " + ban.instead});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, HeadersDoNotOpenNamespaces) {
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.Ends(".h")) continue;
    if (file.text.find("\nusing namespace ") != std::string::npos) {
      findings.push_back({file.path, 0, "`using namespace` in a header: name what you use"});
    }
    if (file.text.find("#pragma once") == std::string::npos) {
      findings.push_back({file.path, 0, "no #pragma once"});
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, SharedPointersSayWhyTheyAreShared) {
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.Ends(".h") || file.Under("tests/")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].find("std::shared_ptr<") == std::string::npos) continue;
      bool said = false;
      for (size_t back = 0; back <= 4 && back <= i; ++back) {
        said = said || file.lines[i - back].find("// shared:") != std::string::npos;
      }
      if (!said) {
        findings.push_back({file.path, i + 1, "shared_ptr without a comment `// shared: why`"});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, FoldersIncludeOnlyWhatTheTableAllows) {
  const std::regex include(R"(^#include [<"]([^>"]+)[>"])");
  Findings findings;
  for (const SourceFile& file : Tree()) {
    const FolderRule* rule = file.IsCode() ? RuleOf(file.path) : nullptr;
    if (rule == nullptr) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      if (!MayInclude(*rule, match[1].str())) {
        findings.push_back({file.path, i + 1,
                            rule->folder + " may not include " + match[1].str() +
                                "; see tests/tidy/include_table.cc"});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, EveryFolderOfTheProductHasARule) {
  std::set<std::string> folders;
  for (const SourceFile& file : Tree()) {
    if (!file.IsCode() || file.Under("tests/") || RuleOf(file.path) != nullptr) continue;
    folders.insert(std::filesystem::path(file.path).parent_path().string());
  }
  EXPECT_THAT(folders, testing::IsEmpty()) << "name them in tests/tidy/include_table.cc";
}

TEST(TidyTest, TheTableOfIncludesNamesOnlyWhatIsThere) {
  const auto is_there = [](const std::string& beginning) {
    return std::ranges::any_of(
        Tree(), [&](const SourceFile& file) { return file.IsCode() && file.Under(beginning); });
  };
  for (const FolderRule& rule : AllRules()) {
    EXPECT_TRUE(is_there(rule.folder + "/")) << rule.folder;
    for (const std::string& ours : rule.ours) EXPECT_TRUE(is_there(ours)) << ours;
  }
}

TEST(TidyTest, EveryFolderWithCodeIsNamedInTheArchitecture) {
  const auto architecture = std::ranges::find(Tree(), "ARCHITECTURE.md", &SourceFile::path);
  ASSERT_NE(architecture, Tree().end());
  std::set<std::string> folders;
  for (const SourceFile& file : Tree()) {
    if (file.IsCode() && !file.Under("tests/")) {
      folders.insert(std::filesystem::path(file.path).parent_path().string());
    }
  }
  for (const std::string& folder : folders) {
    EXPECT_THAT(architecture->text, testing::HasSubstr(folder)) << "name it in ARCHITECTURE.md";
  }
}

TEST(TidyTest, LinksInDocumentsResolve) {
  const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
  std::set<std::string> paths;
  for (const SourceFile& file : Tree()) paths.insert(file.path);
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.Ends(".md")) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
        const std::string target = (*it)[1].str();
        if (target.find("://") != std::string::npos) continue;
        const auto whole =
            (std::filesystem::path(file.path).parent_path() / target).lexically_normal().string();
        const bool folder = std::ranges::any_of(paths, [&](const std::string& path) {
          return path.starts_with(whole.ends_with('/') ? whole : whole + "/");
        });
        if (!paths.contains(whole) && !folder) {
          findings.push_back({file.path, i + 1, "link to " + target + ", which is not there"});
        }
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, EveryFieldOfTheProtocolHasAComment) {
  const std::regex field(R"(^\s+(repeated |map<.*> |[A-Za-z0-9_.]+ )[A-Za-z0-9_, >]*\w+ = \d+;)");
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (!file.Ends(".proto")) continue;
    for (size_t i = 1; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], field) && !IsComment(file.lines[i - 1])) {
        findings.push_back(
            {file.path, i + 1, "a field without a comment: the comment is the contract"});
      }
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

TEST(TidyTest, LargeFilesAreOnTheList) {
  const std::set<std::string> listed = {
      "deploy/data/fashion-mnist-sample/train-images-idx3-ubyte.gz",
      "deploy/data/fashion-mnist-sample/t10k-images-idx3-ubyte.gz",
      "deploy/report.png",
      "coordinator/web/app/package-lock.json",
      "tests/web/sample_study.json",
  };
  Findings findings;
  for (const SourceFile& file : Tree()) {
    if (file.size > (256u << 10) && !listed.contains(file.path)) {
      findings.push_back({file.path, 0,
                          std::to_string(file.size >> 10) +
                              " KiB, above 256: list it in tidy_test.cc or leave it out"});
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

const std::vector<std::string>& FoldersThatDecide() {
  static const std::vector<std::string> folders = {
      "coordinator/sweep/",      "coordinator/scheduler/", "coordinator/ingest/",
      "coordinator/analysis/",   "worker/slots/",          "worker/trainer/noise/",
      "worker/trainer/data/",    "common/base/",           "common/files/",
      "common/trainer_protocol/"};
  return folders;
}

// Headers that a test includes, and those that tested files of the same folder include: parts that
// are tested through what they serve.
std::set<std::string> TestedHeaders() {
  const std::regex include(R"rx(#include "([^"]+)")rx");
  std::map<std::string, std::set<std::string>> includes;  // By path without its ending.
  std::set<std::string> tested;
  for (const SourceFile& file : Tree()) {
    if (!file.IsCode()) continue;
    const std::string stem = file.path.substr(0, file.path.rfind('.'));
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      includes[stem].insert(match[1].str());
      if (file.Under("tests/")) tested.insert(match[1].str());
    }
  }
  for (size_t before = 0; before != tested.size();) {
    before = tested.size();
    for (const std::string& header : std::set<std::string>(tested)) {
      const std::string stem = header.substr(0, header.rfind('.'));
      const std::string folder = header.substr(0, header.rfind('/') + 1);
      for (const std::string& next : includes[stem]) {
        if (next.starts_with(folder)) tested.insert(next);
      }
    }
  }
  return tested;
}

TEST(TidyTest, EverySourceWithDecisionsIsTested) {
  const std::set<std::string> tested = TestedHeaders();
  Findings findings;
  for (const SourceFile& file : Tree()) {
    const bool decides =
        file.Ends(".h") &&
        std::ranges::any_of(FoldersThatDecide(), [&](const auto& f) { return file.Under(f); });
    if (decides && !tested.contains(file.path)) {
      findings.push_back({file.path, 0, "no test reaches it: write one for what it decides"});
    }
  }
  EXPECT_TRUE(findings.empty()) << ToText(findings);
}

}  // namespace
}  // namespace noisefloor::tidy
