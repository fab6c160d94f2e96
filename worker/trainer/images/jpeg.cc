// libjpeg-turbo leaves by longjmp when it fails, so the functions that it leaves hold nothing that
// must be taken apart.
#include <fmt/format.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // Before jpeglib.h, which uses FILE and does not say so.

#include "worker/trainer/images/codecs.h"

namespace noisefloor::trainer {

namespace {

struct Failure {
  jpeg_error_mgr manager = {};
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void Leave(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->message);
  longjmp(failure->leave, 1);
}

// A warning is of damaged or missing data, which libjpeg fills with grey: a failure here.
void LeaveAtWarnings(j_common_ptr info, int level) {
  if (level < 0) Leave(info);
}

void CountScans(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<jpeg_decompress_struct*>(info);
  if (decoder->input_scan_number <= kMostPictureScans) return;
  auto* failure = reinterpret_cast<Failure*>(info->err);
  std::snprintf(failure->message, sizeof failure->message, "more than %d scans", kMostPictureScans);
  longjmp(failure->leave, 1);
}

struct Decoder {
  Failure failure;
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct info = {};

  Decoder() {
    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = Leave;
    failure.manager.emit_message = LeaveAtWarnings;
    progress.progress_monitor = CountScans;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

bool ReadHeader(Decoder& decoder, std::string_view bytes) {
  if (setjmp(decoder.failure.leave) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

bool ReadPixels(Decoder& decoder, uint8_t* pixels) {
  if (setjmp(decoder.failure.leave) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.out_color_space = JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  info.do_block_smoothing = FALSE;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{3} * info.output_width;
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + row_bytes * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

absl::Status Refused(const Decoder& decoder) {
  return InvalidInput(fmt::format("JPEG: {}", decoder.failure.message));
}

}  // namespace

absl::Status DecodeJpeg(std::string_view bytes, Picture& picture) {
  Decoder decoder;
  if (!ReadHeader(decoder, bytes)) return Refused(decoder);
  const jpeg_decompress_struct& info = decoder.info;
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    return InvalidInput("JPEG: CMYK; expected grey, YCbCr or RGB");
  }
  NF_RETURN_IF_ERROR(CheckPictureSize(info.image_width, info.image_height));
  picture.width = info.image_width;
  picture.height = info.image_height;
  picture.pixels.resize(static_cast<size_t>(picture.width * picture.height * 3));
  if (!ReadPixels(decoder, picture.pixels.data())) return Refused(decoder);
  return absl::OkStatus();
}

std::string JpegDecoderName() {
  constexpr int kVersion = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005 is 2.1.5.
  return fmt::format("libjpeg-turbo {}.{}.{} islow fancy", kVersion / 1000000,
                     kVersion / 1000 % 1000, kVersion % 1000);
}

}  // namespace noisefloor::trainer
