// The program on pictures of a user's own.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

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
