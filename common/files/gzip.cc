#include "common/files/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "common/base/check.h"
#include "common/files/mapped_file.h"

namespace noisefloor {

namespace {

constexpr std::string_view kMagic = "\x1f\x8b";

absl::Status TooLarge(const std::string& path, uint64_t limit_bytes) {
  return MakeError(absl::StatusCode::kOutOfRange,
                   fmt::format("{}: larger than the limit of {} bytes", path, limit_bytes));
}

// One zlib stream with its memory.
class Inflater {
 public:
  explicit Inflater(std::string_view packed) {
    constexpr int kGzipOnly = 15 + 16;
    NF_CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK);
    packed_ = packed;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Unpacks until the end of the member, the end of the input or `limit` bytes of output.
  int Unpack(std::string& text, uint64_t limit) {
    int result = Z_OK;
    while (result == Z_OK && text.size() < limit) {
      const size_t before = text.size();
      text.resize(std::min<uint64_t>(limit, before + std::max<size_t>(before, 1u << 16)));
      result = Step(text.data() + before, text.size() - before);
      text.resize(text.size() - stream_.avail_out);
    }
    return result;
  }
  bool NextMember() { return packed_.starts_with(kMagic) && inflateReset(&stream_) == Z_OK; }
  std::string_view rest() const { return packed_; }
  const char* problem() const { return stream_.msg == nullptr ? "damaged" : stream_.msg; }

 private:
  int Step(char* out, size_t room) {
    constexpr size_t kMost = size_t{1} << 30;
    const size_t offered = std::min(packed_.size(), kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data()));
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(room, kMost));
    const size_t withheld = room - stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    packed_.remove_prefix(offered - stream_.avail_in);
    stream_.avail_out += static_cast<uInt>(withheld);
    return result;
  }

  z_stream stream_{};
  std::string_view packed_;
};

absl::StatusOr<std::string> Gunzip(const std::string& path, std::string_view packed,
                                   uint64_t limit_bytes) {
  Inflater inflater(packed);
  std::string text;
  while (true) {
    const int result = inflater.Unpack(text, limit_bytes + 1);
    if (text.size() > limit_bytes) return TooLarge(path, limit_bytes);
    if (result == Z_BUF_ERROR || (result == Z_OK && inflater.rest().empty())) {
      return InvalidInput(
          fmt::format("{}: the gzip data end early, after {} bytes of content", path, text.size()));
    }
    if (result != Z_STREAM_END) {
      return InvalidInput(fmt::format("{}: not valid gzip data: {}", path, inflater.problem()));
    }
    if (inflater.rest().empty()) return text;
    if (!inflater.NextMember()) {
      return InvalidInput(fmt::format("{}: {} bytes follow the end of the gzip data", path,
                                      inflater.rest().size()));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadPlainOrGzip(const std::string& path, uint64_t limit_bytes) {
  NF_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (file.text().starts_with(kMagic)) return Gunzip(path, file.text(), limit_bytes);
  if (file.bytes().size() > limit_bytes) return TooLarge(path, limit_bytes);
  return std::string(file.text());
}

}  // namespace noisefloor
