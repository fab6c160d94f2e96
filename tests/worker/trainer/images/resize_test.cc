// The resampling against its twin in Python (resize_twin.py printed these), and by hand.
#include "worker/trainer/images/resize.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

#include "common/files/sha256.h"

namespace noisefloor::trainer {
namespace {

struct Answer {
  const char* name;  // WIDTHxHEIGHT-SIDE
  const char* sha256;
};
constexpr Answer kAnswers[] = {
    {"1x1-8", "57f618fe00806ffc78d7ee45f09baed3ac632d5a6b9992ef85e004e5ff1c22ee"},
    {"7x7-8", "a6214980dbdc1803c9316ab482c4e003bf13adc0b563252ba49620714c39bcab"},
    {"5x9-8", "d0cad474a5b1759f33e8012079a235147f6e3ffd730087f24c2a59d49f458292"},
    {"8x8-8", "4be60a6502ce0e72e23ea69b6149f15181ebb6f44ff4b0b3c3e33d01be59cc74"},
    {"9x9-8", "c19e2afa2c6eb16cbf3f2a98d152266d07bdace35ea64ef76f94efd624f56290"},
    {"16x16-8", "d61c4e52b809367a6a704433cd4eef43f6ec115e34160cafd285bd4518310c8a"},
    {"37x23-8", "a07da89d3a063208a6f99ff0d3f2c1ef9a919839e1e5b72fb40b946769d1e4a3"},
    {"23x37-16", "ebde3111a8015ce01ae9ca8c68cded5704d40be909054867cdc777df53d439a1"},
    {"224x224-64", "5b9ddc2d31eb3071009f1edd7d4acdd42e02ee95e58ca22c66bf617c39a58e5f"},
    {"301x200-64", "8a2d07f768d821fc32cae0fbc6a893348d6e96ada1647afb7e2588bde0b87d28"},
    {"33x47-40", "c1392b7d4732712d79929478640ff1abd3f821fc6c626fbd253f79996a61a5bc"},
    {"2903x2901-3", "9511708ea61ae0a424fb80dceeca95ad7ef878bce23a7f71fcfd17753c66821d"},
};

Picture PictureOf(int64_t width, int64_t height) {
  Picture picture = {width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        picture.pixels.push_back(static_cast<uint8_t>(7 * x + 13 * y + 71 * c + x * y));
      }
    }
  }
  return picture;
}

std::string Resized(const Picture& picture, int64_t side) {
  std::string planes(static_cast<size_t>(3 * side * side), '\0');
  Resizer(side).Resize(picture, {reinterpret_cast<uint8_t*>(planes.data()), planes.size()});
  return planes;
}

TEST(ResizeTest, IsWhatItsTwinSays) {
  for (const Answer& answer : kAnswers) {
    char* rest = nullptr;
    const int64_t width = std::strtol(answer.name, &rest, 10);
    const int64_t height = std::strtol(rest + 1, &rest, 10);
    const int64_t side = std::strtol(rest + 1, &rest, 10);
    EXPECT_EQ(Sha256Hex(Resized(PictureOf(width, height), side)), answer.sha256) << answer.name;
  }
}

TEST(ResizeTest, ByHand) {
  // A row of 1 and 2 by 2: the mean of four, halves rounded up.
  EXPECT_EQ(Resized({2, 2, {1, 0, 9, 2, 0, 9, 2, 0, 9, 1, 0, 10}}, 1),
            std::string("\x02\0\x09", 3));
  // The centre of three columns is the middle one.
  EXPECT_EQ(Resized({3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, 1), "\x04\x05\x06");
}

TEST(ResizeTest, TheLargestSumsFit) {
  const int64_t side = kMostPictureSide;
  const Picture white = {side, 8, std::vector<uint8_t>(static_cast<size_t>(side * 8 * 3), 255)};
  EXPECT_EQ(Resized(white, 8), std::string(192, '\xff'));
  // 4096 squared is the largest square of kMostPicturePixels or less whose side 3 does not divide.
  const Picture large = {4096, 4096, std::vector<uint8_t>(size_t{4096} * 4096 * 3, 255)};
  EXPECT_EQ(Resized(large, 9), std::string(243, '\xff'));
}

TEST(ResizeTest, OneToolForMany) {
  Resizer resizer(8);
  std::string planes(192, '\0');
  const std::span<uint8_t> out(reinterpret_cast<uint8_t*>(planes.data()), planes.size());
  for (const auto& [width, height] : {std::pair(9, 9), std::pair(7, 7), std::pair(37, 23)}) {
    resizer.Resize(PictureOf(width, height), out);
    EXPECT_EQ(planes, Resized(PictureOf(width, height), 8)) << width;
  }
}

}  // namespace
}  // namespace noisefloor::trainer
