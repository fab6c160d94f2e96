#include "tests/support/model_vfs.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "common/base/check.h"

namespace noisefloor {

namespace {

constexpr char kName[] = "model";
constexpr int kSectorBytes = 4096;

struct ModelFile {
  sqlite3_file base;  // First: SQLite sees this.
  ModelVfs* vfs;
  int node;
  bool sync_folder;  // With the next sync: its entry is new.
  bool temporary;
  std::string* path;
};

ModelFile& Of(sqlite3_file* file) { return *reinterpret_cast<ModelFile*>(file); }
ModelVfs& Of(sqlite3_vfs* vfs) { return *static_cast<ModelVfs*>(vfs->pAppData); }

int CodeOf(const absl::Status& status, int otherwise) {
  if (status.ok()) return SQLITE_OK;
  return status.code() == absl::StatusCode::kResourceExhausted ? SQLITE_FULL : otherwise;
}

// --- Files ---

int Close(sqlite3_file* base) {
  ModelFile& file = Of(base);
  if (file.temporary) (void)file.vfs->disk().Remove(*file.path);
  delete file.path;
  return SQLITE_OK;
}

int Read(sqlite3_file* base, void* into, int size, sqlite3_int64 offset) {
  const ModelFile& file = Of(base);
  const uint64_t length = file.vfs->disk().SizeOf(file.node);
  const auto begin = static_cast<uint64_t>(offset);
  const size_t there =
      std::min<uint64_t>(static_cast<uint64_t>(size), length - std::min(length, begin));
  char* bytes = static_cast<char*>(into);
  std::memset(bytes, 0, static_cast<size_t>(size));
  if (!file.vfs->disk().Read(file.node, begin, std::span(bytes, there)).ok()) {
    return SQLITE_IOERR_READ;
  }
  return there == static_cast<size_t>(size) ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int Write(sqlite3_file* base, const void* bytes, int size, sqlite3_int64 offset) {
  const ModelFile& file = Of(base);
  const std::string_view text(static_cast<const char*>(bytes), static_cast<size_t>(size));
  return CodeOf(file.vfs->disk().Write(file.node, static_cast<uint64_t>(offset), text),
                SQLITE_IOERR_WRITE);
}

int Truncate(sqlite3_file* base, sqlite3_int64 size) {
  const ModelFile& file = Of(base);
  return CodeOf(file.vfs->disk().Truncate(file.node, static_cast<uint64_t>(size)),
                SQLITE_IOERR_TRUNCATE);
}

// SQLite for Unix, too, does not look at how the sync of the folder ends.
int Sync(sqlite3_file* base, int) {
  ModelFile& file = Of(base);
  const absl::Status synced = file.vfs->disk().Sync(file.node);
  if (!synced.ok()) return SQLITE_IOERR_FSYNC;
  if (file.sync_folder) (void)file.vfs->disk().SyncFolder(ParentFolder(*file.path));
  file.sync_folder = false;
  return SQLITE_OK;
}

int FileSize(sqlite3_file* base, sqlite3_int64* size) {
  const ModelFile& file = Of(base);
  *size = static_cast<sqlite3_int64>(file.vfs->disk().SizeOf(file.node));
  return SQLITE_OK;
}

int Lock(sqlite3_file*, int) { return SQLITE_OK; }
int CheckReservedLock(sqlite3_file*, int* held) {
  *held = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int SectorSize(sqlite3_file*) { return kSectorBytes; }
int DeviceCharacteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int ShmMap(sqlite3_file* base, int number, int size, int extend, void volatile** page) {
  const ModelFile& file = Of(base);
  *page = file.vfs->SharedMemory(*file.path, number, size, extend != 0);
  return SQLITE_OK;
}
int ShmLock(sqlite3_file*, int, int, int) { return SQLITE_OK; }
void ShmBarrier(sqlite3_file*) {}
int ShmUnmap(sqlite3_file* base, int forget) {
  if (forget != 0) Of(base).vfs->ForgetSharedMemory(*Of(base).path);
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods = {2,
                                     Close,
                                     Read,
                                     Write,
                                     Truncate,
                                     Sync,
                                     FileSize,
                                     Lock,
                                     Lock,
                                     CheckReservedLock,
                                     FileControl,
                                     SectorSize,
                                     DeviceCharacteristics,
                                     ShmMap,
                                     ShmLock,
                                     ShmBarrier,
                                     ShmUnmap,
                                     nullptr,
                                     nullptr};

// --- Names ---

int Open(sqlite3_vfs* base, const char* name, sqlite3_file* memory, int flags, int* out_flags) {
  memory->pMethods = nullptr;
  ModelDisk& disk = Of(base).disk();
  const std::string path = name == nullptr ? "/temporary" : name;
  const bool is_new = !disk.Inspect(path).ok();
  const auto node = disk.Open(path, (flags & SQLITE_OPEN_CREATE) != 0);
  if (!node.ok()) return CodeOf(node.status(), SQLITE_CANTOPEN);
  const bool is_log = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  new (memory) ModelFile{{&kMethods},
                         &Of(base),
                         *node,
                         is_new && is_log,
                         (flags & SQLITE_OPEN_DELETEONCLOSE) != 0,
                         new std::string(path)};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs* base, const char* name, int sync_folder) {
  ModelDisk& disk = Of(base).disk();
  if (disk.Inspect(name).status().code() == absl::StatusCode::kNotFound) {
    return SQLITE_IOERR_DELETE_NOENT;
  }
  if (!disk.Remove(name).ok()) return SQLITE_IOERR_DELETE;
  if (sync_folder == 0 || disk.SyncFolder(ParentFolder(name)).ok()) return SQLITE_OK;
  return SQLITE_IOERR_DIR_FSYNC;
}

int Access(sqlite3_vfs* base, const char* name, int what, int* result) {
  const auto found = Of(base).disk().Inspect(name);
  *result = found.ok() && (what != SQLITE_ACCESS_EXISTS || found->size_bytes > 0) ? 1 : 0;
  return SQLITE_OK;
}

int FullPathname(sqlite3_vfs*, const char* name, int size, char* full) {
  sqlite3_snprintf(size, full, "%s", name);
  return SQLITE_OK;
}

int Randomness(sqlite3_vfs*, int size, char* bytes) {
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 37 + 11);
  return size;
}
int Sleep(sqlite3_vfs*, int microseconds) { return microseconds; }
int CurrentTime(sqlite3_vfs*, double* days) {
  *days = 2460000.5;
  return SQLITE_OK;
}
int LastError(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

ModelVfs::ModelVfs(ModelDisk& disk) : disk_(disk) {
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(ModelFile);
  vfs_.mxPathname = 512;
  vfs_.zName = kName;
  vfs_.pAppData = this;
  vfs_.xOpen = Open;
  vfs_.xDelete = Delete;
  vfs_.xAccess = Access;
  vfs_.xFullPathname = FullPathname;
  vfs_.xRandomness = Randomness;
  vfs_.xSleep = Sleep;
  vfs_.xCurrentTime = CurrentTime;
  vfs_.xGetLastError = LastError;
  before_ = sqlite3_vfs_find(nullptr);
  NF_CHECK(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1) == SQLITE_OK);
}

// SQLite would take whichever is next for the default, also one that lies over this.
ModelVfs::~ModelVfs() {
  NF_CHECK(sqlite3_vfs_register(before_, /*makeDflt=*/1) == SQLITE_OK);
  NF_CHECK(sqlite3_vfs_unregister(&vfs_) == SQLITE_OK);
}

void* ModelVfs::SharedMemory(const std::string& path, int number, int size_bytes, bool extend) {
  auto& pages = shared_[path];
  const auto index = static_cast<size_t>(number);
  while (extend && pages.size() <= index) {
    pages.push_back(std::make_unique<char[]>(static_cast<size_t>(size_bytes)));
  }
  return index < pages.size() ? pages[index].get() : nullptr;
}

}  // namespace noisefloor
