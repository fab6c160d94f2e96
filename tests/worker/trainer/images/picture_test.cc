// Decoding: known answers, equal bits without SIMD, and what is done with the rarer kinds.
#include "worker/trainer/images/picture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "tests/worker/trainer/images/image_files.h"

namespace noisefloor::trainer {
namespace {

using test::Jpeg;
using test::JpegOptions;
using test::Png;
using test::PngOptions;
using test::Rgb;

std::string PixelsOf(const std::string& bytes) {
  Picture picture;
  const absl::Status status = DecodePicture(bytes, picture);
  if (!status.ok()) return Message(status);
  return {picture.pixels.begin(), picture.pixels.end()};
}

// JPEGs of every kind of subsampling and of sides that no block divides.
std::vector<std::string> AllKinds() {
  std::vector<std::string> all;
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(17, 9), std::pair(64, 48), std::pair(131, 77)}) {
    const std::string pixels = Rgb(width, height, 5);
    for (const bool half : {false, true}) {
      for (const bool progressive : {false, true}) {
        for (const int quality : {30, 75, 100}) {
          JpegOptions options;
          options.quality = quality;
          options.progressive = progressive;
          options.half_colour = half;
          all.push_back(Jpeg(pixels, width, height, options));
        }
      }
    }
    JpegOptions grey;
    grey.components = 1;
    all.push_back(Jpeg(pixels.substr(0, static_cast<size_t>(width * height)), width, height, grey));
  }
  return all;
}

std::string HashOfAllKinds() {
  Sha256 hash;
  for (const std::string& bytes : AllKinds()) hash.Update(Sha256Hex(PixelsOf(bytes)));
  return hash.Hex();
}

// Of libjpeg-turbo 2.1.5, with SIMD and without.
constexpr const char* kAllKinds =
    "d2a96ea189b46864f5b94eac4748510cdf3761a6571411f0e3b5109b358c588f";

TEST(PictureTest, JpegsHaveTheirKnownPixels) { EXPECT_EQ(HashOfAllKinds(), kAllKinds); }

// libjpeg-turbo reads JSIMD_FORCENONE once in a process: this test is run by the next.
TEST(PictureTest, PrintsWithoutSimd) {
  if (std::getenv("JSIMD_FORCENONE") == nullptr) GTEST_SKIP() << "run by the next test";
  EXPECT_EQ(HashOfAllKinds(), kAllKinds);
}

TEST(PictureTest, JpegsHaveTheSamePixelsWithoutSimd) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("JSIMD_FORCENONE", "1", 1);
    execl("/proc/self/exe", "trainer_images_test", "--gtest_filter=PictureTest.PrintsWithoutSimd",
          nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(PictureTest, DecodersAreNamed) {
  EXPECT_EQ(DecoderName(), "libjpeg-turbo 2.1.5 islow fancy, libpng 1.6.39");
}

TEST(PictureTest, PngsAreWhatWasWritten) {
  const std::string pixels = Rgb(5, 3, 1);
  EXPECT_EQ(PixelsOf(Png(pixels, 5, 3)), pixels);
  PngOptions interlaced;
  interlaced.interlaced = true;
  const std::string large = Rgb(19, 11, 2);
  EXPECT_EQ(PixelsOf(Png(large, 19, 11, interlaced)), large);
}

TEST(PictureTest, GreyIsThreeEqualChannels) {
  PngOptions grey;
  grey.channels = 1;
  EXPECT_EQ(PixelsOf(Png("\x07\xf0", 2, 1, grey)), "\x07\x07\x07\xf0\xf0\xf0");
  JpegOptions jpeg;
  jpeg.components = 1;
  const std::string pixels = PixelsOf(Jpeg(std::string(64, '\x80'), 8, 8, jpeg));
  EXPECT_EQ(pixels, std::string(192, '\x80'));
}

TEST(PictureTest, SixteenBitsAreScaledToEight) {
  PngOptions deep;
  deep.channels = 1;
  deep.depth = 16;
  // 0x0080 is nearer to 0 than to 0x0101; 0x0081 is not.
  EXPECT_EQ(PixelsOf(Png(std::string("\x00\x80\x00\x81\xff\xff", 6), 3, 1, deep)),
            std::string("\0\0\0\x01\x01\x01\xff\xff\xff", 9));
}

TEST(PictureTest, AlphaIsDropped) {
  PngOptions alpha;
  alpha.channels = 4;
  EXPECT_EQ(PixelsOf(Png(std::string("\x01\x02\x03\x00\x04\x05\x06\x80", 8), 2, 1, alpha)),
            "\x01\x02\x03\x04\x05\x06");
  alpha.channels = 2;
  EXPECT_EQ(PixelsOf(Png(std::string("\x09\x00", 2), 1, 1, alpha)), "\x09\x09\x09");
}

TEST(PictureTest, PalettesAreExpanded) {
  PngOptions indexed;
  indexed.channels = 1;
  indexed.palette = "abcdef";
  EXPECT_EQ(PixelsOf(Png(std::string("\x01\x00\x01", 3), 3, 1, indexed)), "defabcdef");
}

TEST(PictureTest, OrientationIsNotApplied) {
  const std::string pixels = Rgb(16, 8, 3);
  JpegOptions turned;
  turned.exif_orientation = 6;
  EXPECT_EQ(PixelsOf(Jpeg(pixels, 16, 8, turned)), PixelsOf(Jpeg(pixels, 16, 8)));
  EXPECT_NE(Jpeg(pixels, 16, 8, turned), Jpeg(pixels, 16, 8));
}

TEST(PictureTest, MemoryIsUsedAgain) {
  Picture picture;
  ASSERT_TRUE(DecodePicture(Png(Rgb(5, 3, 1), 5, 3), picture).ok());
  ASSERT_TRUE(DecodePicture(Png(Rgb(2, 2, 1), 2, 2), picture).ok());
  EXPECT_EQ(picture.width, 2);
  EXPECT_EQ(picture.pixels.size(), 12u);
}

}  // namespace
}  // namespace noisefloor::trainer
