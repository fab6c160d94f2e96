#include "coordinator/store/log_check.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace noisefloor {

namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log; all numbers are big-endian.
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMagic = 0x377F0682;  // The lowest bit: sums over big-endian words.
constexpr uint32_t kLeastPage = 512;
constexpr uint32_t kMostPage = 65536;

uint32_t NumberAt(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}

struct Sum {
  uint32_t one = 0;
  uint32_t two = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

Sum SumAt(std::string_view bytes, size_t at) {
  return {NumberAt(bytes, at), NumberAt(bytes, at + 4)};
}

Sum Add(Sum sum, std::string_view bytes, bool big_endian) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint32_t first = NumberAt(bytes, at), second = NumberAt(bytes, at + 4);
    if (!big_endian) first = __builtin_bswap32(first), second = __builtin_bswap32(second);
    sum.one += first + sum.two;
    sum.two += second + sum.one;
  }
  return sum;
}

// False at the end of the file.
absl::StatusOr<bool> ReadWhole(ReadableFile& file, std::string& into) {
  size_t done = 0;
  while (done < into.size()) {
    NF_ASSIGN_OR_RETURN(const size_t count, file.Read(std::span(into).subspan(done)));
    if (count == 0) return false;
    done += count;
  }
  return true;
}

}  // namespace

absl::Status CheckLog(const std::string& database_path, FileSystem& files) {
  const std::string path = database_path + "-wal";
  const auto file = files.OpenToRead(path);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  NF_RETURN_IF_ERROR(file.status());
  std::string header(kHeaderBytes, '\0');
  NF_ASSIGN_OR_RETURN(const bool has_header, ReadWhole(**file, header));
  const uint32_t page = has_header ? NumberAt(header, 8) : 0;
  // Without a header nobody can say more: it is written, and synced, before anything else.
  if ((NumberAt(header, 0) & ~1u) != kMagic || !std::has_single_bit(page) || page < kLeastPage ||
      page > kMostPage) {
    return absl::OkStatus();
  }
  const bool big_endian = (NumberAt(header, 0) & 1) != 0;
  Sum before = SumAt(header, 24);  // What the frame before says that its sum is.
  uint64_t broken = 0;             // The first frame that is not whole, from 1; 0: none.
  bool whole_behind = false;       // Whether the frame before ends a transaction, behind it.
  std::string frame(kFrameHeaderBytes + page, '\0');
  for (uint64_t number = 1;; ++number) {
    NF_ASSIGN_OR_RETURN(const bool there, ReadWhole(**file, frame));
    if (!there) return absl::OkStatus();
    const std::string_view bytes = frame;
    const bool same_log = bytes.substr(8, 8) == std::string_view(header).substr(16, 8);
    const Sum sum = Add(Add(before, bytes.substr(0, 8), big_endian),
                        bytes.substr(kFrameHeaderBytes), big_endian);
    before = SumAt(bytes, 16);
    const bool whole = same_log && sum == before;
    if (!whole && broken == 0) broken = number;
    if (!whole) whole_behind = false;
    if (!whole || broken == 0) continue;
    if (whole_behind) {
      return MakeError(absl::StatusCode::kDataLoss,
                       fmt::format("{}: frame {} is damaged, and what was kept after it is not: "
                                   "put a backup in its place, or remove the file to go on "
                                   "without everything that it holds",
                                   path, broken));
    }
    whole_behind = NumberAt(bytes, 4) != 0;
  }
}

}  // namespace noisefloor
