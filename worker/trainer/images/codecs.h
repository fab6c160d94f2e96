// The two decoders behind picture.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "worker/trainer/images/picture.h"

namespace noisefloor::trainer {

// InvalidArgument for a picture without pixels or above the limits.
absl::Status CheckPictureSize(int64_t width, int64_t height);

absl::Status DecodeJpeg(std::string_view bytes, Picture& picture);
std::string JpegDecoderName();

absl::Status DecodePng(std::string_view bytes, Picture& picture);
std::string PngDecoderName();

}  // namespace noisefloor::trainer
