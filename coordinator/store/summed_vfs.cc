#include "coordinator/store/summed_vfs.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "coordinator/store/page_sum.h"

namespace noisefloor {

namespace {

// The page with SQLite's locks, which is never written.
constexpr sqlite3_int64 kLocksAt = 0x40000000;

// What is known of a file.
enum class Sums : uint8_t {
  kUnknown,  // It had no header yet.
  kNo,
  kYes,
  kDamaged,  // Its header says nothing that can be.
};

// The file below lies behind it in the same memory. Of one connection, and so of one thread.
struct SummedFile {
  sqlite3_file base;  // First: SQLite sees this.
  Sums sums;
  uint32_t page_bytes;
  const char* path;   // SQLite's; lives as long as the file.
  std::string* page;  // For what is written, or read around a piece.
};

SummedFile& Of(sqlite3_file* file) { return *reinterpret_cast<SummedFile*>(file); }
sqlite3_file* Below(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(SummedFile));
}
sqlite3_vfs* Below(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

int WriteBelow(sqlite3_file* file, std::string_view bytes, sqlite3_int64 offset) {
  sqlite3_file* const below = Below(file);
  return below->pMethods->xWrite(below, bytes.data(), static_cast<int>(bytes.size()), offset);
}

// Of the last read on this thread that failed; empty when it failed below.
std::string& Damage() {
  static thread_local std::string damage;
  return damage;
}

int ReadBelow(sqlite3_file* file, std::span<char> into, sqlite3_int64 offset) {
  sqlite3_file* const below = Below(file);
  const int code =
      below->pMethods->xRead(below, into.data(), static_cast<int>(into.size()), offset);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) Damage().clear();
  return code;
}

int Damaged(const SummedFile& file, sqlite3_int64 page) {
  Damage() = fmt::format("page {} of {} does not have its sum", page, file.path);
  return SQLITE_IOERR_DATA;
}

// From the first bytes of the file.
void Learn(sqlite3_file* base, std::string_view header) {
  SummedFile& file = Of(base);
  if (std::ranges::all_of(header, [](char byte) { return byte == 0; })) return;
  const PageLayout layout = LayoutOf(header);
  file.page_bytes = layout.page_bytes;
  if (layout.page_bytes == 0) {
    file.sums = Sums::kDamaged;
    return;
  }
  file.sums = layout.reserved_bytes == kSumBytes ? Sums::kYes : Sums::kNo;
  if (file.sums == Sums::kYes) return;
  std::string first(layout.page_bytes, '\0');
  if (ReadBelow(base, first, 0) == SQLITE_OK && HadSums(first)) file.sums = Sums::kYes;
}

void LearnFromFile(sqlite3_file* base) {
  std::string header(kHeaderBytes, '\0');
  if (ReadBelow(base, header, 0) == SQLITE_OK) Learn(base, header);
}

// --- Files ---

int Close(sqlite3_file* base) {
  delete Of(base).page;
  return Below(base)->pMethods->xClose(Below(base));
}

// A piece of a page: by the sum of all of it.
int ReadPiece(sqlite3_file* base, std::span<char> into, sqlite3_int64 offset) {
  SummedFile& file = Of(base);
  const sqlite3_int64 number = offset / file.page_bytes;
  const auto at = static_cast<size_t>(offset % file.page_bytes);
  if (at + into.size() > file.page_bytes) return ReadBelow(base, into, offset);
  file.page->resize(file.page_bytes);
  const int code = ReadBelow(base, *file.page, number * file.page_bytes);
  if (code != SQLITE_OK) return ReadBelow(base, into, offset);  // It ends within this page.
  if (LookAtSum(*file.page) == PageSum::kBroken) return Damaged(file, number + 1);
  std::memcpy(into.data(), file.page->data() + at, into.size());
  return SQLITE_OK;
}

int Read(sqlite3_file* base, void* bytes, int size, sqlite3_int64 offset) {
  SummedFile& file = Of(base);
  const std::span into(static_cast<char*>(bytes), static_cast<size_t>(size));
  if (offset < static_cast<sqlite3_int64>(kHeaderBytes) && into.size() <= kHeaderBytes) {
    const int code = ReadBelow(base, into, offset);
    if (code == SQLITE_OK && offset == 0 && into.size() == kHeaderBytes) {
      Learn(base, {into.data(), into.size()});
    }
    return code;
  }
  if (file.sums == Sums::kUnknown) LearnFromFile(base);
  if (file.sums == Sums::kDamaged) return Damaged(file, 1);
  if (file.sums != Sums::kYes) return ReadBelow(base, into, offset);
  if (into.size() != file.page_bytes) return ReadPiece(base, into, offset);
  const int code = ReadBelow(base, into, offset);
  if (code != SQLITE_OK) return code;
  if (LookAtSum({into.data(), into.size()}) == PageSum::kBroken) {
    return Damaged(file, offset / file.page_bytes + 1);
  }
  BlankSum(into);  // So that none gets into a log.
  return SQLITE_OK;
}

int Write(sqlite3_file* base, const void* bytes, int size, sqlite3_int64 offset) {
  SummedFile& file = Of(base);
  const std::string_view text(static_cast<const char*>(bytes), static_cast<size_t>(size));
  if (offset == 0 && text.size() >= kHeaderBytes) {
    const PageLayout layout = LayoutOf(text);
    file.page_bytes = layout.page_bytes;
    file.sums = layout.reserved_bytes == kSumBytes ? Sums::kYes : Sums::kNo;
  }
  if (file.sums == Sums::kUnknown) LearnFromFile(base);
  if (file.sums != Sums::kYes || text.size() != file.page_bytes) {
    return WriteBelow(base, text, offset);
  }
  file.page->assign(text);
  PutSum(*file.page);
  return WriteBelow(base, *file.page, offset);
}

template <auto kMethod, typename... Arguments>
int Pass(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* const below = Below(file);
  return (below->pMethods->*kMethod)(below, arguments...);
}

void ShmBarrier(sqlite3_file* file) { Below(file)->pMethods->xShmBarrier(Below(file)); }

using Methods = sqlite3_io_methods;

// Of version 2: SQLite maps nothing into memory, where nobody would look at a sum.
const Methods kMethods = {2,
                          Close,
                          Read,
                          Write,
                          Pass<&Methods::xTruncate, sqlite3_int64>,
                          Pass<&Methods::xSync, int>,
                          Pass<&Methods::xFileSize, sqlite3_int64*>,
                          Pass<&Methods::xLock, int>,
                          Pass<&Methods::xUnlock, int>,
                          Pass<&Methods::xCheckReservedLock, int*>,
                          Pass<&Methods::xFileControl, int, void*>,
                          Pass<&Methods::xSectorSize>,
                          Pass<&Methods::xDeviceCharacteristics>,
                          Pass<&Methods::xShmMap, int, int, int, void volatile**>,
                          Pass<&Methods::xShmLock, int, int, int>,
                          ShmBarrier,
                          Pass<&Methods::xShmUnmap, int>,
                          nullptr,
                          nullptr};

// --- Names ---

// Logs, journals and temporary files are those of the one below.
int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* memory, int flags, int* out_flags) {
  sqlite3_vfs* const below = Below(vfs);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
    return below->xOpen(below, name, memory, flags, out_flags);
  auto* const file = new (memory) SummedFile{{nullptr}, Sums::kUnknown, 0, name, nullptr};
  const int code = below->xOpen(below, name, Below(memory), flags, out_flags);
  if (Below(memory)->pMethods == nullptr) return code;
  file->page = new std::string;
  file->base.pMethods = &kMethods;
  return code;
}

template <auto kMethod, typename Result, typename... Arguments>
Result PassName(sqlite3_vfs* vfs, Arguments... arguments) {
  sqlite3_vfs* const below = Below(vfs);
  return (below->*kMethod)(below, arguments...);
}

using Vfs = sqlite3_vfs;

void LieOver(Vfs& vfs, Vfs& below) {
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(SummedFile)) + below.szOsFile;
  vfs.mxPathname = below.mxPathname;
  vfs.pAppData = &below;
  vfs.xOpen = Open;
  vfs.xDelete = PassName<&Vfs::xDelete, int, const char*, int>;
  vfs.xAccess = PassName<&Vfs::xAccess, int, const char*, int, int*>;
  vfs.xFullPathname = PassName<&Vfs::xFullPathname, int, const char*, int, char*>;
  vfs.xRandomness = PassName<&Vfs::xRandomness, int, int, char*>;
  vfs.xSleep = PassName<&Vfs::xSleep, int, int>;
  vfs.xCurrentTime = PassName<&Vfs::xCurrentTime, int, double*>;
  vfs.xGetLastError = PassName<&Vfs::xGetLastError, int, int, char*>;
}

SummedFile* FileOf(SQLite::Database& database) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file != nullptr && file->pMethods == &kMethods ? &Of(file) : nullptr;
}

absl::Status Failed(const SummedFile& file, int code) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   fmt::format("{}: giving its pages their sums: {} (SQLite {})", file.path,
                               sqlite3_errstr(code), code));
}

}  // namespace

std::string SummedVfs() {
  struct Registered {
    std::string name;
    Vfs vfs = {};
  };
  static Mutex mutex;
  static auto& known = *new std::map<std::string, Registered>;  // For all of the process.
  Vfs* const below = sqlite3_vfs_find(nullptr);
  NF_CHECK(below != nullptr);
  const MutexLock lock(mutex);
  Registered& ours = known[below->zName];
  // Connections of other threads read what is registered, without this lock.
  if (ours.vfs.pAppData == below) return ours.name;
  LieOver(ours.vfs, *below);
  if (!ours.name.empty()) return ours.name;  // Over another one of the same name.
  ours.name = fmt::format("summed-{}", below->zName);
  ours.vfs.zName = ours.name.c_str();
  NF_CHECK(sqlite3_vfs_register(&ours.vfs, /*makeDflt=*/0) == SQLITE_OK);
  return ours.name;
}

absl::Status DamagedPage() {
  return MakeError(
      absl::StatusCode::kDataLoss,
      Damage() +
          ": damaged on the disk, or changed by a program other than noisefloor: put a "
          "backup in its place; after changes of your own, `sqlite3 FILE VACUUM` "
          "makes it one that can be opened");
}

bool IsDamagedPage(int code) {
  return (code & 0xFF) == SQLITE_IOERR && (code >> 8 == 0 || code == SQLITE_IOERR_DATA) &&
         !Damage().empty();
}

int ReservedBytes(SQLite::Database& database) {
  int bytes = -1;  // Asks.
  sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  return bytes;
}

void ReserveSums(SQLite::Database& database) {
  int bytes = kSumBytes;
  sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

absl::StatusOr<uint64_t> SumUnsummedPages(SQLite::Database& database,
                                          const std::function<absl::Status()>& before) {
  SummedFile* const file = FileOf(database);
  NF_CHECK(file != nullptr);
  if (file->sums != Sums::kYes) return 0;
  sqlite3_int64 size = 0;
  int code = Pass<&Methods::xFileSize>(&file->base, &size);
  std::string page(file->page_bytes, '\0');
  uint64_t summed = 0;
  for (sqlite3_int64 at = 0; code == SQLITE_OK && at + file->page_bytes <= size;
       at += file->page_bytes) {
    if (at == kLocksAt) continue;
    code = ReadBelow(&file->base, page, at);
    if (code != SQLITE_OK) break;
    const PageSum sum = LookAtSum(page);
    if (sum == PageSum::kBroken) {
      Damaged(*file, at / file->page_bytes + 1);
      return DamagedPage();
    }
    PutSum(page);
    // All of it is zero: so is its sum.
    if (sum == PageSum::kHolds || LookAtSum(page) == PageSum::kNone) continue;
    if (summed++ == 0) NF_RETURN_IF_ERROR(before());
    code = WriteBelow(&file->base, page, at);
  }
  if (code == SQLITE_OK && summed > 0) {
    code = Pass<&Methods::xSync>(&file->base, int{SQLITE_SYNC_NORMAL});
  }
  if (code != SQLITE_OK) return Failed(*file, code);
  return summed;
}

absl::StatusOr<bool> FirstPageIsUnsummed(SQLite::Database& database) {
  SummedFile* const file = FileOf(database);
  NF_CHECK(file != nullptr);
  if (file->sums != Sums::kYes) return false;
  std::string page(file->page_bytes, '\0');
  const int code = ReadBelow(&file->base, page, 0);
  if (code == SQLITE_IOERR_SHORT_READ) return false;  // All of it is in the log.
  if (code != SQLITE_OK) return Failed(*file, code);
  return LookAtSum(page) == PageSum::kNone;
}

}  // namespace noisefloor
