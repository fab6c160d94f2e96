#include "worker/trainer/images/picture.h"

#include <fmt/format.h>

#include "worker/trainer/images/codecs.h"

namespace noisefloor::trainer {

absl::Status CheckPictureSize(int64_t width, int64_t height) {
  if (width < 1 || height < 1) {
    return InvalidInput(fmt::format("{}x{} pixels; expected at least 1x1", width, height));
  }
  if (width > kMostPictureSide || height > kMostPictureSide ||
      width * height > kMostPicturePixels) {
    return InvalidInput(
        fmt::format("{}x{} pixels; expected sides of at most {} and at most {} "
                    "pixels",
                    width, height, kMostPictureSide, kMostPicturePixels));
  }
  return absl::OkStatus();
}

absl::Status DecodePicture(std::string_view bytes, Picture& picture) {
  if (bytes.empty()) return InvalidInput("an empty file; expected a JPEG or a PNG");
  if (bytes.size() > static_cast<size_t>(kMostPictureBytes)) {
    return InvalidInput(
        fmt::format("{} bytes; expected at most {}", bytes.size(), kMostPictureBytes));
  }
  if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg(bytes, picture);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return DecodePng(bytes, picture);
  std::string first;
  for (const char c : bytes.substr(0, 4)) {
    first += fmt::format("{}{:02x}", first.empty() ? "" : " ", static_cast<unsigned char>(c));
  }
  return InvalidInput(
      fmt::format("it begins with {}: neither a JPEG (ff d8 ff) nor a PNG (89 50 4e 47)", first));
}

std::string DecoderName() { return fmt::format("{}, {}", JpegDecoderName(), PngDecoderName()); }

}  // namespace noisefloor::trainer
