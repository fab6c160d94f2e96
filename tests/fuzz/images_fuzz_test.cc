// Pictures, tars and tables as nobody should write them: refused in words, or read.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

#include "tests/fuzz/fuzz.h"
#include "tests/worker/trainer/images/image_files.h"
#include "worker/trainer/images/picture.h"
#include "worker/trainer/images/table.h"
#include "worker/trainer/images/tar_shard.h"

namespace noisefloor::test {
namespace {

constexpr int kRounds = 2000;
constexpr int kTarRounds = 500;         // Through a file each.
constexpr size_t kMostWords = 8 << 10;  // Bytes of a refusal.

void ExpectWords(const absl::Status& refused) {
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_FALSE(refused.message().empty());
  EXPECT_LT(refused.message().size(), kMostWords);
}

void ExpectPicture(const std::string& input, int& read) {
  // What a header may ask for is judged by broken_images_test; here it is kept small.
  trainer::Picture picture;
  const absl::Status status = trainer::DecodePicture(input, picture);
  if (!status.ok()) return ExpectWords(status);
  ++read;
  EXPECT_EQ(picture.pixels.size(), static_cast<size_t>(picture.width * picture.height * 3));
}

// A changed header may say many pixels, of which a decoder asks memory first.
bool IsLarge(const std::string& input) {
  for (size_t at = 0; at + 9 < input.size(); ++at) {
    const auto number = [&](size_t place) {
      return static_cast<unsigned char>(input[place]) * 256 +
             static_cast<unsigned char>(input[place + 1]);
    };
    const bool frame = input[at] == '\xff' && (input[at + 1] & '\xf0') == '\xc0';
    if (frame && number(at + 5) * number(at + 7) > 1 << 22) return true;
    if (input.compare(at, 4, "IHDR") != 0 || at + 12 > input.size()) continue;
    if (number(at + 4) != 0 || number(at + 8) != 0) return true;
    if (number(at + 6) * number(at + 10) > 1 << 22) return true;
  }
  return false;
}

TEST(ImagesFuzz, Jpegs) {
  const std::string pixels = Rgb(33, 18, 1);
  JpegOptions grey, progressive, exif;
  grey.components = 1;
  progressive.progressive = true;
  exif.exif_orientation = 6;
  int read = 0;
  Fuzz({Jpeg(pixels, 33, 18), Jpeg(pixels, 33, 18, grey), Jpeg(pixels, 33, 18, progressive),
        Jpeg(pixels, 33, 18, exif)},
       {"\xff\xd8", "\xff\xd9", "\xff\xda", "\xff\xc4", "\xff\xdb", "Exif"}, kRounds,
       [&](const std::string& input) {
         if (!IsLarge(input)) ExpectPicture(input, read);
       });
  EXPECT_GE(read, 4);
}

TEST(ImagesFuzz, Pngs) {
  const std::string pixels = Rgb(19, 12, 1);
  PngOptions deep, alpha, interlaced, indexed;
  deep.channels = 1;
  deep.depth = 16;
  alpha.channels = 4;
  interlaced.interlaced = true;
  indexed.channels = 1;
  indexed.palette = std::string(3 * 256, 'p');
  int read = 0;
  Fuzz({Png(pixels, 19, 12), Png(pixels, 19, 12, deep), Png(pixels, 12, 12, alpha),
        Png(pixels, 19, 12, interlaced), Png(pixels, 19, 12, indexed)},
       {"IHDR", "IDAT", "IEND", "PLTE", "tRNS", "gAMA", "iCCP"}, kRounds,
       [&](const std::string& input) {
         if (!IsLarge(input)) ExpectPicture(input, read);
       });
  EXPECT_GE(read, 5);
}

TEST(ImagesFuzz, Tables) {
  int read = 0;
  Fuzz({"file,split,label\na.png,train,x\nb.png,test,\"y, \"\"z\"\"\"\n",
        "split,file\r\nunused,img/a.jpg\r\n"},
       {"file", "split", ",", "\"", "\"\"", "\n", "\r\n", "train", "../", "\xff"}, 20000,
       [&](const std::string& input) {
         const auto table = trainer::ParseCsv("T", input);
         if (!table.ok()) return ExpectWords(table.status());
         ++read;
         for (const trainer::TableRow& row : table->rows) {
           EXPECT_EQ(row.cells.size(), table->columns.size());
         }
       });
  EXPECT_GE(read, 2);
}

TEST(ImagesFuzz, Tars) {
  std::string folder = testing::TempDir() + "nf-tars-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/x.tar";
  int read = 0;
  Fuzz({Tar({{"train", "", '5'}, {"train/a/1.png", "one"}, {"train/a/2.jpg", "three"}})},
       {"ustar", "../", "/", "././@LongLink", "GNU.sparse.major=1", ".png"}, kTarRounds,
       [&](const std::string& input) {
         std::ofstream(path, std::ios::binary) << input;
         size_t entries = 0;
         const absl::Status status = trainer::ReadShard(
             path, [](const std::string&) { return true; },
             [&](const std::string& entry, const std::string& bytes) {
               ++entries;
               EXPECT_EQ(entry.find(".."), entry.find("..."));  // No part is "..".
               EXPECT_LE(bytes.size(), input.size());
               return absl::OkStatus();
             });
         if (!status.ok()) return ExpectWords(status);
         read += entries > 0 ? 1 : 0;
       });
  EXPECT_GE(read, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace noisefloor::test
