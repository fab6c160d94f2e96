#include "coordinator/store/log_check.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "coordinator/store/page_sum.h"

namespace noisefloor {

namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log; all numbers are big-endian.
constexpr size_t kLogHeaderBytes = 32;
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

// What a frame holds of a database of pages of this size.
class Frame {
 public:
  explicit Frame(uint32_t page_bytes) : bytes_(kFrameHeaderBytes + page_bytes, '\0') {}

  absl::StatusOr<bool> ReadFrom(ReadableFile& file) { return ReadWhole(file, bytes_); }
  uint32_t page() const { return NumberAt(bytes_, 0); }            // From 1.
  uint32_t database_pages() const { return NumberAt(bytes_, 4); }  // Not 0: of a commit.
  std::string_view salts() const { return View().substr(8, 8); }   // Of its log.
  Sum sum() const { return SumAt(bytes_, 16); }                    // As it says.
  std::string_view content() const { return View().substr(kFrameHeaderBytes); }
  // What it should say.
  Sum SumAfter(Sum before, bool big_endian) const {
    return Add(Add(before, View().substr(0, 8), big_endian), content(), big_endian);
  }

 private:
  std::string_view View() const { return bytes_; }

  std::string bytes_;
};

bool IsPageSize(uint32_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kLeastPage && bytes <= kMostPage;
}

bool IsWhole(std::string_view header) {
  if ((NumberAt(header, 0) & ~1u) != kMagic || !IsPageSize(NumberAt(header, 8))) return false;
  const bool big_endian = (NumberAt(header, 0) & 1) != 0;
  return Add({}, header.substr(0, 24), big_endian) == SumAt(header, 24);
}

// As the database says; a page size of 0 when it does not.
absl::StatusOr<PageLayout> LayoutOfFile(const std::string& database_path, FileSystem& files) {
  const auto file = files.OpenToRead(database_path);
  if (absl::IsNotFound(file.status())) return PageLayout();
  NF_RETURN_IF_ERROR(file.status());
  std::string header(kHeaderBytes, '\0');
  NF_ASSIGN_OR_RETURN(const bool there, ReadWhole(**file, header));
  return there ? LayoutOf(header) : PageLayout();
}

using Pages = std::map<uint32_t, std::string>;

// The pages of the transactions that are whole, of a log whose header tells nothing: its frames
// have the salts of the first one, and each has a sum that goes on from the one before.
absl::StatusOr<Pages> CommittedPages(ReadableFile& file, uint32_t page_bytes) {
  Pages committed, open;
  Frame frame(page_bytes);
  std::string salts;
  Sum before;
  bool big_endian = false;
  for (uint64_t number = 1;; ++number) {
    NF_ASSIGN_OR_RETURN(const bool there, frame.ReadFrom(file));
    if (!there) return committed;
    if (number == 1) salts = frame.salts();
    // The first one goes on from the header, of which nothing is believed.
    if (number == 2) big_endian = frame.SumAfter(before, true) == frame.sum();
    const bool whole = frame.salts() == salts &&
                       (number == 1 || frame.SumAfter(before, big_endian) == frame.sum());
    if (!whole) return committed;
    before = frame.sum();
    open[frame.page()] = frame.content();
    if (frame.database_pages() == 0) continue;
    open.merge(committed);
    committed = std::exchange(open, {});
    committed.erase(committed.upper_bound(frame.database_pages()), committed.end());
  }
}

// Whether the database has all of these pages. What it reserves in each, for sums, is in no log.
absl::StatusOr<bool> Has(const std::string& database_path, const Pages& pages, PageLayout layout,
                         FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const auto file, files.OpenToRead(database_path));
  std::string content(layout.page_bytes, '\0');
  const size_t used = layout.page_bytes - layout.reserved_bytes;
  uint32_t number = 0;
  for (const auto& [page, kept] : pages) {
    for (; number < page; ++number) {
      NF_ASSIGN_OR_RETURN(const bool there, ReadWhole(*file, content));
      if (!there) return false;
    }
    if (!std::string_view(kept).starts_with(std::string_view(content).substr(0, used)))
      return false;
  }
  return true;
}

// A log is begun anew over the frames of the one before, once the database has them all and has
// been synced: a header that power has cut off loses nothing then.
absl::Status CheckWithoutHeader(const std::string& database_path, ReadableFile& log,
                                FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const PageLayout layout, LayoutOfFile(database_path, files));
  if (layout.page_bytes == 0) return absl::OkStatus();  // No database: SQLite says so itself.
  NF_ASSIGN_OR_RETURN(const Pages pages, CommittedPages(log, layout.page_bytes));
  NF_ASSIGN_OR_RETURN(const bool kept, Has(database_path, pages, layout, files));
  if (kept) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}-wal: its header is damaged, and not all that it holds is in the "
                               "database: put a backup in its place, or remove the file to go on "
                               "without everything that it holds",
                               database_path));
}

absl::Status CheckFrames(const std::string& path, std::string_view header, ReadableFile& log) {
  const bool big_endian = (NumberAt(header, 0) & 1) != 0;
  Sum before = SumAt(header, 24);  // What the frame before says that its sum is.
  uint64_t broken = 0;             // The first frame that is not whole, from 1; 0: none.
  bool whole_behind = false;       // Whether the frame before ends a transaction, behind it.
  Frame frame(NumberAt(header, 8));
  for (uint64_t number = 1;; ++number) {
    NF_ASSIGN_OR_RETURN(const bool there, frame.ReadFrom(log));
    if (!there) return absl::OkStatus();
    const bool same_log = frame.salts() == header.substr(16, 8);
    const Sum sum = frame.SumAfter(before, big_endian);
    before = frame.sum();
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
    whole_behind = frame.database_pages() != 0;
  }
}

}  // namespace

absl::Status CheckLog(const std::string& database_path, FileSystem& files) {
  const std::string path = database_path + "-wal";
  const auto file = files.OpenToRead(path);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  NF_RETURN_IF_ERROR(file.status());
  std::string header(kLogHeaderBytes, '\0');
  NF_ASSIGN_OR_RETURN(const bool has_header, ReadWhole(**file, header));
  // It is written, and synced, before anything else.
  if (!has_header) return absl::OkStatus();
  if (!IsWhole(header)) return CheckWithoutHeader(database_path, **file, files);
  return CheckFrames(path, header, **file);
}

}  // namespace noisefloor
