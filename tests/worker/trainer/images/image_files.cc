#include "tests/worker/trainer/images/image_files.h"

#include <jpeglib.h>
#include <png.h>

#include <cstdlib>
#include <cstring>

#include "common/base/check.h"
#include "common/base/philox.h"

namespace noisefloor::test {

std::string Rgb(int64_t width, int64_t height, uint64_t seed) {
  const PhiloxStream stream(seed, 0);
  std::string pixels;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        const auto noise = stream.Word(static_cast<uint64_t>((y * width + x) * 3 + c)) % 32;
        const auto slope =
            static_cast<uint32_t>((x * (3 + c) + y * (5 - c)) * 200 / (8 * (width + height)));
        pixels.push_back(static_cast<char>(slope + noise));
      }
    }
  }
  return pixels;
}

std::string Jpeg(std::string_view pixels, int64_t width, int64_t height,
                 const JpegOptions& options) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = options.components;
  info.in_color_space = options.components == 1   ? JCS_GRAYSCALE
                        : options.components == 4 ? JCS_CMYK
                                                  : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  info.dct_method = JDCT_ISLOW;
  if (!options.half_colour) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  if (options.progressive) jpeg_simple_progression(&info);
  std::vector<jpeg_scan_info> scans;
  if (options.many_scans) {
    for (const int low : {1, 0}) {  // All bits but the last, then the last, of each coefficient.
      for (int k = 0; k < 64; ++k) scans.push_back({1, {0}, k, k, low == 1 ? 0 : 1, low});
    }
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  if (options.exif_orientation != 0) {
    // "Exif", TIFF of big endian with one entry: 0x0112, a short.
    std::string exif("Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0",
                     32);
    exif[25] = static_cast<char>(options.exif_orientation);
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                      static_cast<unsigned>(exif.size()));
  }
  const auto row_bytes = static_cast<size_t>(width * options.components);
  while (info.next_scanline < info.image_height) {
    auto* row = reinterpret_cast<JSAMPROW>(
        const_cast<char*>(pixels.data() + row_bytes * info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return out;
}

std::string Png(std::string_view pixels, int64_t width, int64_t height, const PngOptions& options) {
  constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  NF_CHECK(setjmp(png_jmpbuf(png)) == 0);
  std::string out;
  png_set_write_fn(
      png, &out,
      [](png_structp writer, png_bytep bytes, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(writer))
            ->append(reinterpret_cast<char*>(bytes), size);
      },
      nullptr);
  const bool indexed = !options.palette.empty();
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               options.depth, indexed ? PNG_COLOR_TYPE_PALETTE : kColours[options.channels - 1],
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (indexed) {
    png_set_PLTE(png, info, reinterpret_cast<png_const_colorp>(options.palette.data()),
                 static_cast<int>(options.palette.size() / 3));
  }
  png_write_info(png, info);
  const auto row_bytes =
      static_cast<size_t>(width) * static_cast<size_t>(options.channels * options.depth / 8);
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < height; ++y) {
    rows.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(pixels.data())) +
                   static_cast<size_t>(y) * row_bytes);
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string Tar(const std::vector<TarEntry>& entries) {
  std::string tar;
  for (const TarEntry& entry : entries) {
    NF_CHECK(entry.path.size() <= 100 && entry.link.size() <= 100);
    std::string head(512, '\0');
    const auto put = [&](size_t at, std::string_view text) { head.replace(at, text.size(), text); };
    const auto octal = [&](size_t at, size_t digits, uint64_t value) {
      for (size_t i = digits; i-- > 0; value /= 8)
        head[at + i] = static_cast<char>('0' + value % 8);
    };
    put(0, entry.path);
    octal(100, 7, 0644);
    octal(108, 7, 0);
    octal(116, 7, 0);
    octal(124, 11, entry.bytes.size());
    octal(136, 11, 0);
    head[156] = entry.type;
    put(157, entry.link);
    if (entry.type == 'S') {
      put(257, "ustar  ");
      octal(386, 11, 0);
      octal(398, 11, entry.bytes.size());
      octal(483, 11, entry.bytes.size() + 4096);
    } else {
      put(257, std::string_view("ustar\00000", 8));
    }
    put(148, "        ");
    uint64_t sum = 0;
    for (const char c : head) sum += static_cast<unsigned char>(c);
    octal(148, 6, sum);
    head[154] = '\0';
    tar += head + entry.bytes;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

}  // namespace noisefloor::test
