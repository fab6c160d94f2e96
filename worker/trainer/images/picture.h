// One decoded picture, and how files of pictures become one.
//
// Fixed arithmetic, so that equal bytes give equal pixels on every processor:
//   JPEG  libjpeg-turbo with its integer inverse transform (JDCT_ISLOW), fancy upsampling and no
//         smoothing of blocks, whose SIMD forms give the bits of the plain ones (a test compares
//         them). Grey and YCbCr or RGB; grey is made three equal channels
//   PNG   libpng; palettes and low depths are expanded, 16 bits scaled to 8 ((v 255 + 32895) >>
//         16), alpha and transparent colours dropped: what lies under them is taken. Gamma and
//         colour profiles are not applied
// The orientation that EXIF tells is not applied: pixels are taken as they lie.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  // {height, width, 3}: red, green, blue.
};

inline constexpr int64_t kMostPictureSide = 16384;
inline constexpr int64_t kMostPicturePixels = int64_t{1} << 26;
inline constexpr int64_t kMostPictureBytes = int64_t{64} << 20;  // Of a file.
inline constexpr int kMostPictureScans = 100;                    // Of a progressive JPEG.

// Decodes a JPEG or a PNG, told apart by their first bytes. `picture` is overwritten and its memory
// used again. InvalidArgument, saying what is wrong, for anything else, for files that end early or
// are damaged (also where a decoder would only warn), for CMYK and for what is above the limits,
// before memory for it is taken. Any thread.
absl::Status DecodePicture(std::string_view bytes, Picture& picture);

// "libjpeg-turbo 2.1.5 islow fancy, libpng 1.6.39": whose versions may decide pixels. It is part of
// the identity of a set of images.
std::string DecoderName();

}  // namespace noisefloor::trainer
