// libpng leaves by longjmp when it fails, so the functions that it leaves hold nothing that must be
// taken apart.
#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "worker/trainer/images/codecs.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kMostMessage = 200;
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;

struct Reading {
  std::string_view rest;
  char message[kMostMessage] = {};
};

[[noreturn]] void Leave(png_structp png, png_const_charp message) {
  auto* reading = static_cast<Reading*>(png_get_error_ptr(png));
  std::snprintf(reading->message, sizeof reading->message, "%s", message);
  png_longjmp(png, 1);
}

void Ignore(png_structp, png_const_charp) {}  // Of chunks that decide no pixel.

void Take(png_structp png, png_bytep out, size_t size) {
  auto* reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (reading->rest.size() < size) png_error(png, "the file ends early");
  std::memcpy(out, reading->rest.data(), size);
  reading->rest.remove_prefix(size);
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : reading_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading_, Leave, Ignore);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~Decoder() {
    if (png_ != nullptr) png_destroy_read_struct(&png_, &info_, nullptr);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool made() const { return info_ != nullptr; }
  const char* message() const { return reading_.message; }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }

  bool ReadHeader() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &reading_, Take);
    // Sizes are judged by us, with words of ours; beyond 2^31 libpng refuses first.
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
    png_set_chunk_cache_max(png_, 1);  // Texts and suggested palettes are passed over unread.
    png_read_info(png_, info_);
    return true;
  }

  // To rows of red, green and blue bytes.
  bool ReadPixels(png_bytepp rows, size_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const int colour = png_get_color_type(png_, info_);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row_bytes) png_error(png_, "rows of another size");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  Reading reading_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

absl::Status DecodePng(std::string_view bytes, Picture& picture) {
  Decoder decoder(bytes);
  if (!decoder.made()) return MakeError(absl::StatusCode::kResourceExhausted, "PNG: no memory");
  const auto refused = [&] { return InvalidInput(fmt::format("PNG: {}", decoder.message())); };
  if (!decoder.ReadHeader()) return refused();
  NF_RETURN_IF_ERROR(CheckPictureSize(decoder.width(), decoder.height()));
  picture.width = decoder.width();
  picture.height = decoder.height();
  const auto row_bytes = static_cast<size_t>(picture.width * 3);
  picture.pixels.resize(row_bytes * static_cast<size_t>(picture.height));
  std::vector<png_bytep> rows(static_cast<size_t>(picture.height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = picture.pixels.data() + y * row_bytes;
  if (!decoder.ReadPixels(rows.data(), row_bytes)) return refused();
  return absl::OkStatus();
}

std::string PngDecoderName() { return fmt::format("libpng {}", PNG_LIBPNG_VER_STRING); }

}  // namespace noisefloor::trainer
