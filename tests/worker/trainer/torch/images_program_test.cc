// The program on pictures of a user's own.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/files/npy.h"
#include "tests/worker/trainer/images/image_files.h"
#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

namespace fs = std::filesystem;

// 24 pictures of which 16 are trained on; warm ones are reddish.
TrainerRequest OwnImages() {
  TrainerRequest request = SmallRequest("mlp");
  const std::string folder = request.work_directory + "-root";
  fs::create_directories(folder + "/own");
  std::ofstream table(folder + "/own/labels.csv");
  table << "file,split,warm,odd,place\n";
  for (uint64_t i = 0; i < 24; ++i) {
    std::string pixels = test::Rgb(20, 16, i);
    for (size_t at = 0; i % 3 == 0 && at < pixels.size(); at += 3) pixels[at] = '\xff';
    const std::string name = std::to_string(i) + ".jpg";
    std::ofstream(folder + "/own/" + name, std::ios::binary) << test::Jpeg(pixels, 20, 16);
    table << name << (i < 16 ? ",train," : ",test,") << (i % 3 == 0) << "," << i % 2 << ","
          << (i % 4 < 2 ? "in" : "out") << "\n";
  }
  request.data_root = folder;
  request.write_evaluation_set = true;
  Specification& spec = request.specification;
  spec.data = {.name = "own", .image_size = 8, .labels = "warm,odd", .groups = "place"};
  spec.train.loss = "binary_cross_entropy";
  spec.train.batch_size = 8;
  spec.evaluate.predictions = "final";
  return request;
}

TEST(OwnImagesTest, AttributesAreLearntWithTheSameBitsFromTheCache) {
  const TrainerRequest request = OwnImages();
  const Ran plain = RunTrainer(request);
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  const std::string cache = "--cache=" + request.data_root + "/cache";
  const Ran made = RunTrainer(request, {.arguments = {cache}});
  const Ran found = RunTrainer(request, {.arguments = {cache}});
  for (const Ran* ran : {&made, &found}) {
    EXPECT_EQ(ran->exit_code, 0) << ran->output;
    EXPECT_EQ(ran->outcome().hashes, plain.outcome().hashes);
    EXPECT_EQ(ran->hello().data_identity, plain.hello().data_identity);
  }
  EXPECT_EQ(plain.RecordsOf("test_top5").size(), 0u);
  EXPECT_EQ(plain.RecordsOf("test_all_attributes").size(), plain.RecordsOf("test_top1").size());
  std::stringstream groups;
  groups << std::ifstream(request.work_directory + "/evaluation_groups.csv").rdbuf();
  EXPECT_EQ(groups.str().substr(0, 16), "example,place\n0,");
  EXPECT_NE(plain.outcome().environment.find(R"("examples_seen":16)"), std::string::npos);
}

// Of the eight test pictures, 16 to 23: 18 and 21 are warm, those with odd numbers odd; which is
// which one sees by its red.
TEST(OwnImagesTest, LabelsOfTheEvaluationSetAreTheAttributesOfItsImages) {
  TrainerRequest request = OwnImages();
  request.specification.train.epochs = 0;
  ASSERT_EQ(RunTrainer(request).exit_code, 0);
  const auto images = NpyView::Open(request.work_directory + "/evaluation_images.npy");
  const auto labels = NpyView::Open(request.work_directory + "/evaluation_labels.npy");
  ASSERT_TRUE(images.ok() && labels.ok()) << images.status() << labels.status();
  ASSERT_EQ(images->shape(), (Shape{8, 8, 8, 3}));
  ASSERT_EQ(labels->shape(), (Shape{8, 2}));
  const auto pixels = *images->Values<uint8_t>();
  const auto answers = *labels->Values<int32_t>();
  std::map<std::pair<int32_t, int32_t>, int> seen;
  for (size_t i = 0; i < 8; ++i) {
    const int32_t warm = answers[2 * i], odd = answers[2 * i + 1];
    EXPECT_EQ(warm, pixels[i * 8 * 8 * 3] > 190 ? 1 : 0) << i;
    ++seen[{warm, odd}];
  }
  EXPECT_EQ(seen, (std::map<std::pair<int32_t, int32_t>, int>{
                      {{0, 0}, 3}, {{0, 1}, 3}, {{1, 0}, 1}, {{1, 1}, 1}}));
}

// Only who has read them knows how many steps they make: two an epoch.
TEST(OwnImagesTest, APokeBehindTheLastStepIsRefused) {
  TrainerRequest request = OwnImages();
  request.specification.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  request.specification.sources.poke_step = 3;
  const Ran last = RunTrainer(request);
  EXPECT_EQ(last.exit_code, 0) << last.output;
  request.specification.sources.poke_step = 4;

  const Ran ran = RunTrainer(request);

  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().cause, CauseClass::kBadSpecification);
  EXPECT_EQ(ran.outcome().message,
            "sources.poke.step: 4 asked, the training has 4 steps, counted from 0: the poke would "
            "never happen");
}

// Draws have the step in 28 bits of their index. Whoever trained after all would have no finite
// loss, and end.
TEST(OwnImagesTest, MoreStepsThanThereAreDrawsAreRefused) {
  TrainerRequest request = SmallRequest("mlp");
  request.data_root = request.work_directory + "-root";
  fs::create_directories(request.data_root + "/own");
  const std::string picture = test::Png(test::Rgb(8, 8, 1), 8, 8);
  std::vector<test::TarEntry> pictures;
  for (int i = 0; i < 2687; ++i) {
    const std::string folder = i < 2 ? "test/" : "train/";
    pictures.push_back({folder + (i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".png", picture});
  }
  std::ofstream(request.data_root + "/own/all.tar", std::ios::binary) << test::Tar(pictures);
  Specification& spec = request.specification;
  spec.data = {.name = "own", .image_size = 8};
  spec.train.batch_size = 1;
  spec.train.epochs = 100000;
  spec.train.optimizer.learning_rate = 1e30;
  spec.evaluate.every_epochs = 0;

  const Ran ran = RunTrainer(request);

  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().message,
            "268500000 steps; expected at most 268435456, so that no draw comes twice");
}

TEST(OwnImagesTest, ABrokenPictureIsBadData) {
  const TrainerRequest request = OwnImages();
  const std::string path = request.data_root + "/own/7.jpg";
  fs::resize_file(path, fs::file_size(path) - 20);

  const Ran ran = RunTrainer(request);

  EXPECT_EQ(ran.exit_code, 11);
  EXPECT_EQ(ran.outcome().cause, CauseClass::kBadData);
  EXPECT_EQ(ran.outcome().message, path + ": JPEG: Premature end of JPEG file");
}

}  // namespace
}  // namespace noisefloor::trainer
