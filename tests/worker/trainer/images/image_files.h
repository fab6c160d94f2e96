// Pictures and tars made by tests: right ones, and wrong ones that no library would write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::test {

// A picture of red, green and blue that `seed` decides, smooth enough to be like a photograph.
std::string Rgb(int64_t width, int64_t height, uint64_t seed);

struct JpegOptions {
  int quality = 90;
  int components = 3;  // 1: grey; 4: CMYK.
  bool progressive = false;
  bool half_colour = true;   // 4:2:0, else 4:4:4.
  int exif_orientation = 0;  // 0: no EXIF.
  bool many_scans = false;   // Of a grey one: 128, as far as the format goes without repeating any.
};
// `pixels`: {height, width, components}.
std::string Jpeg(std::string_view pixels, int64_t width, int64_t height,
                 const JpegOptions& options = {});

struct PngOptions {
  int channels = 3;  // 1 grey, 2 grey and alpha, 3, 4 with alpha.
  int depth = 8;     // Or 16, big endian.
  bool interlaced = false;
  std::string palette = {};  // Not empty: colours of three bytes, and pixels are places in it.
};
std::string Png(std::string_view pixels, int64_t width, int64_t height,
                const PngOptions& options = {});

struct TarEntry {
  std::string path;
  std::string bytes;
  char type = '0';  // '5' folder, '2' symbolic link, '1' hard link, '3' device, 'S' GNU sparse.
  std::string link = {};
};
// ustar; a path of at most 100 bytes, of any bytes.
std::string Tar(const std::vector<TarEntry>& entries);

}  // namespace noisefloor::test
