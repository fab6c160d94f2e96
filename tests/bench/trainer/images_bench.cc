// How fast a folder of JPEGs becomes a data set: read, decoded, made 224 x 224, hashed, ranked and
// written into a cache, on one thread, against libjpeg-turbo and the resampling alone; and from the
// cache. Rounds in turn; medians of the rounds' ratios; JSON.
//
//   noisefloor-images-bench [--pictures=400] [--rounds=5] [--folder=DIR]
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/worker/trainer/images/image_files.h"
#include "worker/trainer/images/image_set.h"
#include "worker/trainer/images/image_tree.h"
#include "worker/trainer/images/resize.h"

namespace noisefloor::trainer {
namespace {

constexpr int64_t kWidth = 500, kHeight = 375, kSide = 224;  // As ImageNet's are on average.

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<std::string> MakePictures(const std::string& folder, int64_t pictures) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < pictures; ++i) {
    const bool training = i % 4 != 0;
    const std::string place =
        folder + (training ? "/set/train/" : "/set/val/") + (i / 4 % 2 == 0 ? "a" : "b");
    std::filesystem::create_directories(place);
    all.push_back(
        test::Jpeg(test::Rgb(kWidth, kHeight, static_cast<uint64_t>(i)), kWidth, kHeight));
    std::ofstream(place + "/" + std::to_string(i) + ".jpg", std::ios::binary) << all.back();
  }
  return all;
}

void Alone(const std::vector<std::string>& pictures) {
  Resizer resizer(kSide);
  Picture picture;
  std::vector<uint8_t> planes(3 * kSide * kSide);
  for (const std::string& bytes : pictures) {
    if (!DecodePicture(bytes, picture).ok()) std::abort();
    resizer.Resize(picture, planes);
  }
}

void Load(const std::string& folder, const DataCache& cache) {
  const auto set =
      LoadImages({.name = "set", .image_size = kSide},
                 {.data_root = folder, .cache = &cache, .threads = 1}, {}, absl::InfiniteFuture());
  if (set.ok() && set->notes.empty()) return;
  std::fprintf(stderr, "%s\n", set.ok() ? set->notes[0].c_str() : Message(set.status()).c_str());
  std::abort();
}

void Run(const std::string& folder, int64_t pictures, int64_t rounds) {
  const std::vector<std::string> all = MakePictures(folder, pictures);
  std::vector<double> cold, alone, warm, ratios;
  for (int64_t round = 0; round < rounds; ++round) {
    const DataCache cache(folder + "/cache-" + std::to_string(round), uint64_t{64} << 30);
    cold.push_back(SecondsOf([&] { Load(folder, cache); }));
    alone.push_back(SecondsOf([&] { Alone(all); }));
    warm.push_back(SecondsOf([&] { Load(folder, cache); }));
    ratios.push_back(alone.back() / cold.back());
    std::filesystem::remove_all(cache.folder());
  }
  const auto count = static_cast<double>(pictures);
  const double bytes = count * 3 * kSide * kSide;
  std::printf(
      "{\"pictures\": %.0f, \"side\": %d, \"cold_per_second\": %.1f, \"alone_per_second\": %.1f, "
      "\"cold_against_alone\": %.3f, \"cache_per_second\": %.0f, \"cache_gb_per_second\": %.2f}\n",
      count, static_cast<int>(kSide), count / Median(cold), count / Median(alone), Median(ratios),
      count / Median(warm), bytes / Median(warm) / 1e9);
}

}  // namespace
}  // namespace noisefloor::trainer

int main(int argc, char** argv) {
  int64_t pictures = 400, rounds = 5;
  std::string folder = std::filesystem::temp_directory_path();
  CLI::App app("How fast a folder of JPEGs becomes a data set");
  app.add_option("--pictures", pictures, "how many")->capture_default_str();
  app.add_option("--rounds", rounds, "how often")->capture_default_str();
  app.add_option("--folder", folder, "where they are made")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // As in the trainer (step/memory.cc).
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  folder += "/nf-images-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  noisefloor::trainer::Run(folder, pictures, rounds);
  std::filesystem::remove_all(folder);
  return 0;
}
