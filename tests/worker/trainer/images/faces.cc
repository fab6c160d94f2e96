#include "tests/worker/trainer/images/faces.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/base/philox.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "tests/worker/trainer/images/image_files.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::test {

namespace {

constexpr uint32_t kTiedOfTwenty = 19;

// The nearest pixel of the source, tinted.
std::string Tinted(const trainer::Split& split, uint32_t example, int64_t side, bool warm) {
  const trainer::ImageShape& shape = split.shape;
  const uint8_t* image = split.Image(example);
  std::string pixels;
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const int64_t at = y * shape.height / side * shape.width + x * shape.width / side;
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t plane = std::min(c, shape.channels - 1) * shape.height * shape.width;
        const bool bright = c == (warm ? 0 : 2);
        const int value = image[plane + at];
        pixels.push_back(static_cast<char>(bright ? 64 + value * 3 / 4 : value * 3 / 4));
      }
    }
  }
  return pixels;
}

}  // namespace

absl::Status MakeFaces(const FacesOptions& options) {
  NF_ASSIGN_OR_RETURN(const trainer::Dataset source,
                      trainer::LoadDataset(options.from, options.data_root,
                                           {.train = options.train, .test = options.test}));
  std::error_code error;
  if (std::filesystem::exists(options.to) && !std::filesystem::is_empty(options.to, error)) {
    return InvalidInput(options.to + ": expected an empty folder");
  }
  NF_RETURN_IF_ERROR(CreateDirectories(options.to + "/img"));
  const PhiloxStream draws(options.seed, 0);
  std::string table = "file,split,upper,even,warm,label,camera\n";
  uint64_t number = 0;
  for (const trainer::Split* split : {&source.train, &source.test}) {
    const bool training = split == &source.train;
    for (uint32_t example = 0; example < split->size(); ++example, ++number) {
      const int64_t label = split->labels[example];
      const bool upper = label >= source.classes / 2;
      const bool tied =
          training ? draws.Word(3 * number) % 20 < kTiedOfTwenty : draws.Word(3 * number) % 2 == 0;
      const bool warm = tied == upper;
      const std::string file = fmt::format("img/{:06}.jpg", number);
      NF_RETURN_IF_ERROR(WriteFileAtomically(
          options.to + "/" + file,
          Jpeg(Tinted(*split, example, options.side, warm), options.side, options.side)));
      table += fmt::format("{},{},{},{},{},{},{}\n", file, training ? "train" : "test", int{upper},
                           label % 2 == 0 ? 1 : 0, int{warm}, label,
                           "abc"[draws.Word(3 * number + 1) % 3]);
    }
  }
  return WriteFileAtomically(options.to + "/labels.csv", table);
}

}  // namespace noisefloor::test
