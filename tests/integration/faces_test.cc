// A study like those of faces through the real coordinator: real JPEGs, attributes that are learnt
// together, and groups that reach the store and what is exported.
#include "tests/worker/trainer/images/faces.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/files/npy.h"
#include "tests/integration/process.h"

namespace noisefloor::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(5);  // Against hanging.
constexpr int64_t kTests = 60;

constexpr const char* kSweep = R"(
name: faces
model: {name: mlp, hidden: 16}
data: {name: faces, image_size: 16, labels: "upper,even", groups: "warm,camera"}
train: {epochs: 2, batch_size: 50, loss: binary_cross_entropy, optimizer: {learning_rate: 0.5}}
noise: [control, algo]
replicates: 2
hardware: any
)";

std::string Content(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class FacesTest : public testing::Test {
 protected:
  FacesTest() {
    std::string pattern = testing::TempDir() + "nf-faces-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FacesTest() override { fs::remove_all(folder_); }

  // The exit code; output goes to a file.
  int Do(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), NOISEFLOOR);
    arguments.push_back("--home=" + folder_ + "/home");
    auto process = Process::Start(arguments, folder_ + "/err");
    EXPECT_TRUE(process.ok()) << process.status();
    while (process.ok() && process->ReadLine(kPatience).ok()) {
    }
    const auto code = process->Wait(kPatience);
    return code.value_or(-1);
  }

  std::string folder_;
};

TEST_F(FacesTest, AttributesAreLearntAndGroupsAreExported) {
  ASSERT_TRUE(MakeFaces({.data_root = std::string(getenv("NOISEFLOOR_SOURCE")) + "/deploy/data",
                         .to = folder_ + "/data/faces",
                         .train = 400,
                         .test = kTests,
                         .side = 28})
                  .ok());
  std::ofstream(folder_ + "/faces.yaml") << kSweep;

  ASSERT_EQ(Do({"run", folder_ + "/faces.yaml", "--data-root=" + folder_ + "/data"}), 0)
      << Content(folder_ + "/err");
  ASSERT_EQ(Do({"export", "s1", "--to=" + folder_ + "/out"}), 0) << Content(folder_ + "/err");

  const json members = json::parse(Content(folder_ + "/out/members.json"));
  ASSERT_EQ(members["members"].size(), 4u);
  const json& first = members["members"][0];
  const std::string set = "faces-" + first["data_identity"].get<std::string>().substr(0, 8);
  const std::string groups = Content(folder_ + "/out/evaluation_groups/" + set + ".csv");
  EXPECT_THAT(groups, testing::StartsWith("example,warm,camera\n0,"));
  EXPECT_EQ(std::ranges::count(groups, '\n'), kTests + 1);
  const auto labels = NpyView::Open(folder_ + "/out/evaluation_labels/" + set + ".npy");
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(labels->shape(), (Shape{kTests, 2}));
  const auto logits = NpyView::Open(folder_ + "/out/predictions/s1c0r0.npy");
  ASSERT_TRUE(logits.ok()) << logits.status();
  EXPECT_EQ(logits->shape(), (Shape{kTests, 2}));

  // The trainer's accuracy is that of the files.
  const auto truths = labels->Values<int32_t>().value();
  const auto values = logits->Values<float>().value();
  double right = 0;
  for (size_t i = 0; i < truths.size(); ++i) right += (values[i] > 0) == (truths[i] == 1) ? 1 : 0;
  right /= static_cast<double>(truths.size());
  EXPECT_NEAR(first["metrics"]["top1"].get<double>(), right, 1e-12);
  EXPECT_GT(right, 0.6);
  EXPECT_EQ(first["environment"]["measured"]["examples_seen"], 400);

  // The study takes each attribute of an example as a decision.
  const json study = json::parse(Content(folder_ + "/out/study.json"));
  EXPECT_EQ(study["warnings"].dump().find("\"error\""), std::string::npos) << study["warnings"];
  const json& control = study["cohorts"][0];
  EXPECT_NEAR(control["accuracy"]["value"].get<double>(), right, 1e-12);
  EXPECT_EQ(control["churn"]["value"], 0);

  // Groups are told apart from the table's own lines: both attributes of an example are of its
  // group, whose examples are examples.
  std::istringstream lines(groups);
  std::string line;
  std::getline(lines, line);
  std::map<std::string, std::pair<double, double>> by_camera;  // Right, all.
  for (size_t x = 0; std::getline(lines, line); ++x) {
    auto& [of_group, all] = by_camera[line.substr(line.rfind(',') + 1)];
    for (const size_t i : {2 * x, 2 * x + 1}) {
      of_group += (values[i] > 0) == (truths[i] == 1) ? 1 : 0;
      all += 1;
    }
  }
  size_t told = 0;
  for (const json& group : control["per_group"]) {
    if (group["column"] != "camera") continue;
    const auto& [of_group, all] = by_camera.at(group["name"].get<std::string>());
    EXPECT_EQ(group["examples"], all / 2);
    EXPECT_NEAR(group["accuracy"]["value"].get<double>(), of_group / all, 1e-12);
    EXPECT_TRUE(group["false_positive_rate"]["value"].is_number());
    ++told;
  }
  EXPECT_EQ(told, by_camera.size());
}

}  // namespace
}  // namespace noisefloor::test
