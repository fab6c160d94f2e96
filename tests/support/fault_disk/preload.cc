// A disk that fails, or loses power, under a program that knows nothing of it.
//
// To be loaded before the C library (LD_PRELOAD). Counts the calls that change or sync something
// below one folder, in the order in which they are made, and at the call that the test names does
// what it asks for (control.h). The index of SQLite's log (-shm) does not count: it is made anew
// from the log whenever nobody has it open.
//
// For a loss of power it keeps in mind what was changed and not synced: content until a sync of the
// file, entries until a sync of their folder. When power goes, all of that is taken back, and what
// the seed draws of it (sectors of 512 bytes, single entries) is done again. What is unlinked is
// kept in another folder for that.
//
// Descriptors that it opens stay open: closing one would drop the program's locks on the file.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "tests/simulation/chance.h"
#include "tests/support/fault_disk/control.h"

namespace noisefloor::test {
namespace {

constexpr int kMostDescriptors = 65536;
constexpr size_t kSectorBytes = 512;

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// The calls of the C library, looked up once.
struct Libc {
  int (*open)(const char*, int, ...) = Real<int (*)(const char*, int, ...)>("open64");
  int (*mkostemp)(char*, int) = Real<int (*)(char*, int)>("mkostemp64");
  int (*close)(int) = Real<int (*)(int)>("close");
  ssize_t (*write)(int, const void*, size_t) = Real<ssize_t (*)(int, const void*, size_t)>("write");
  ssize_t (*pwrite)(int, const void*, size_t,
                    off_t) = Real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite64");
  int (*ftruncate)(int, off_t) = Real<int (*)(int, off_t)>("ftruncate64");
  int (*fsync)(int) = Real<int (*)(int)>("fsync");
  int (*fdatasync)(int) = Real<int (*)(int)>("fdatasync");
  int (*rename)(const char*, const char*) = Real<int (*)(const char*, const char*)>("rename");
  int (*unlink)(const char*) = Real<int (*)(const char*)>("unlink");
  int (*unlinkat)(int, const char*, int) = Real<int (*)(int, const char*, int)>("unlinkat");
  int (*remove)(const char*) = Real<int (*)(const char*)>("remove");
  int (*mkdir)(const char*, mode_t) = Real<int (*)(const char*, mode_t)>("mkdir");
};

const Libc& Calls() {
  static const Libc calls;
  return calls;
}

using Key = std::pair<dev_t, ino_t>;

Key KeyOf(const struct stat& about) { return {about.st_dev, about.st_ino}; }

Key KeyOfPath(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0 ? KeyOf(about) : Key();
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Without the second of two slashes: of temporary folders some names have them.
std::string Clean(std::string_view path) {
  std::string clean;
  for (const char c : path) {
    if (c != '/' || !clean.ends_with('/')) clean.push_back(c);
  }
  return clean;
}

bool Exists(const std::string& path) { return KeyOfPath(path) != Key(); }

// Something that was done and is not on disk yet.
struct Change {
  enum class Type : uint8_t { kWrite, kTruncate, kCreate, kFolder, kUnlink, kRename };
  Type type;
  Key synced_by;  // The file, or of an entry its folder.
  Key node;       // The file that it is about.
  int file = -1;  // Of content.
  off_t offset = 0;
  off_t old_size = 0;
  off_t new_size = 0;
  std::string before;  // Of the written range, as far as the file reached.
  std::string after;
  std::string path;
  std::string to;
  std::string grave;  // Where the file was kept that `path`, or `to`, has lost.
};

class FaultDisk {
 public:
  FaultDisk(const char* folder, const char* control, const char* history, const char* grave)
      : folder_(std::string(folder) + "/"), grave_(grave) {
    const int page = Calls().open(control, O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    if (memory == MAP_FAILED) abort();
    control_ = static_cast<FaultControl*>(memory);
    Calls().close(page);
    history_ = Calls().open(history, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }

  bool IsOurs(const char* path) const {
    const std::string text = Clean(path);
    return getpid() == process_ && (text + "/").starts_with(folder_) && !text.ends_with("-shm");
  }
  bool IsOurs(int file) const {
    return file >= 0 && file < kMostDescriptors && tracked_[static_cast<size_t>(file)].load() &&
           getpid() == process_;
  }
  void Track(int file, bool tracked) {
    if (file >= 0 && file < kMostDescriptors) tracked_[static_cast<size_t>(file)] = tracked;
  }

  // Runs `call` as the next one, or what shall happen instead. `half` of it comes before a kill.
  template <typename Call, typename Half, typename Note>
  auto Do(const char* name, const std::string& path, const Call& call, const Half& half,
          const Note& note) -> decltype(call()) {
    const MutexLock lock(mutex_);
    const int64_t number = ++control_->calls;
    Tell(name, path);
    const FaultKind kind = Fault(number);
    if (kind == FaultKind::kTorn) half();
    if (kind == FaultKind::kKill || kind == FaultKind::kTorn) Die();
    if (kind == FaultKind::kPower) LosePower();
    if (kind == FaultKind::kEio || kind == FaultKind::kEnospc) {
      errno = kind == FaultKind::kEio ? EIO : ENOSPC;
      return -1;
    }
    const auto result = note(call);
    const int error = errno;
    if (kind == FaultKind::kKillAfter) Die();
    errno = error;
    return result;
  }

  // --- Notes of what is not synced: each makes the call. ---

  template <typename Call>
  auto NoteWrite(int file, const void* bytes, size_t count, off_t offset, const Call& call)
      -> decltype(call()) {
    Change change{Change::Type::kWrite};
    Begin(file, change);
    change.offset = offset < 0 ? change.old_size : offset;  // -1: at the end, as all of ours do.
    ReadBefore(change, count);
    const auto result = call();
    if (result <= 0) return result;
    change.after.assign(static_cast<const char*>(bytes), static_cast<size_t>(result));
    changes_.push_back(std::move(change));
    return result;
  }

  template <typename Call>
  int NoteTruncate(int file, off_t size, const Call& call) {
    Change change{Change::Type::kTruncate};
    Begin(file, change);
    change.new_size = size;
    change.offset = size;
    ReadBefore(change, size < change.old_size ? static_cast<size_t>(change.old_size - size) : 0);
    const int result = call();
    if (result == 0) changes_.push_back(std::move(change));
    return result;
  }

  template <typename Call>
  int NoteSync(int file, const Call& call) {
    const int result = call();
    struct stat about {};
    if (result != 0 || fstat(file, &about) != 0) return result;
    const Key key = KeyOf(about);
    std::erase_if(changes_, [&](const Change& change) { return change.synced_by == key; });
    return result;
  }

  // A file or folder that may be new at `path`, which the call may fill in.
  template <typename Call>
  int NoteCreate(const char* path, Change::Type type, const Call& call) {
    const bool was_there = Exists(path);
    const int result = call();
    if (result < 0 || was_there) return result;
    Change change{type};
    change.path = path;
    return Entry(std::move(change), result);
  }

  template <typename Call>
  int NoteUnlink(const std::string& path, const Call& call) {
    Change change{Change::Type::kUnlink};
    change.path = path;
    change.grave = Bury(path);
    const Key node = KeyOfPath(path);
    const int result = call();
    if (result != 0) return result;
    change.node = node;
    change.synced_by = KeyOfPath(FolderOf(path));
    changes_.push_back(std::move(change));
    return result;
  }

  template <typename Call>
  int NoteRename(const std::string& from, const std::string& to, const Call& call) {
    Change change{Change::Type::kRename};
    change.path = from;
    change.to = to;
    change.grave = Bury(to);
    const int result = call();
    if (result != 0) return result;
    change.node = KeyOfPath(to);
    change.synced_by = KeyOfPath(FolderOf(to));
    changes_.push_back(std::move(change));
    return result;
  }

  std::string PathOf(int file) const {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    return readlink(link.c_str(), path.data(), path.size() - 1) > 0 ? path.data() : "?";
  }

 private:
  FaultKind Fault(int64_t number) {
    const int64_t at = control_->at;
    const bool now = at > 0 && (number == at || (number > at && control_->lasting != 0));
    if (!now) return FaultKind::kNone;
    ++control_->fired;
    return control_->kind;
  }

  void Tell(const char* name, const std::string& path) const {
    const std::string line = std::string(name) + " /" + (Clean(path) + "/").substr(folder_.size());
    const std::string told = line.substr(0, line.size() - 1) + "\n";
    (void)!Calls().write(history_, told.data(), told.size());
  }

  [[noreturn]] static void Die() {
    kill(getpid(), SIGKILL);
    while (true) pause();
  }

  int Entry(Change change, int result) {
    change.node = KeyOfPath(change.path);
    change.synced_by = KeyOfPath(FolderOf(change.path));
    changes_.push_back(std::move(change));
    return result;
  }

  void Begin(int file, Change& change) {
    struct stat about {};
    fstat(file, &about);
    change.node = change.synced_by = KeyOf(about);
    change.old_size = about.st_size;
    auto [own, is_new] = own_.try_emplace(change.node, -1);
    if (is_new) {
      own->second =
          Calls().open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR | O_CLOEXEC);
    }
    change.file = own->second;
  }

  static void ReadBefore(Change& change, size_t count) {
    change.before.resize(count);
    const ssize_t got = pread(change.file, change.before.data(), count, change.offset);
    change.before.resize(got > 0 ? static_cast<size_t>(got) : 0);
  }

  // A second name of what is at `path`, so that it can come back; "" when nothing is.
  std::string Bury(const std::string& path) {
    const std::string grave = NextGrave();
    return link(path.c_str(), grave.c_str()) == 0 ? grave : "";
  }
  std::string NextGrave() {
    return grave_ + "/" + std::to_string(getpid()) + "-" + std::to_string(++graves_);
  }

  [[noreturn]] void LosePower() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) TakeBack(*change);
    if (const uint64_t seed = control_->seed; seed != 0) {
      Chance chance(seed);
      for (Change& change : changes_) DoSomeOf(change, chance);
    }
    Die();
  }

  void TakeBack(Change& change) {
    switch (change.type) {
      case Change::Type::kWrite:
      case Change::Type::kTruncate:
        Put(change.file, change.before, change.offset);
        (void)!Calls().ftruncate(change.file, change.old_size);
        return;
      case Change::Type::kCreate:
        change.grave = NextGrave();
        Calls().rename(change.path.c_str(), change.grave.c_str());
        return;
      case Change::Type::kFolder: rmdir(change.path.c_str()); return;
      case Change::Type::kUnlink:
        if (!change.grave.empty()) Calls().rename(change.grave.c_str(), change.path.c_str());
        return;
      case Change::Type::kRename:
        Calls().rename(change.to.c_str(), change.path.c_str());
        if (!change.grave.empty()) Calls().rename(change.grave.c_str(), change.to.c_str());
        return;
    }
  }

  static void DoSomeOf(const Change& change, Chance& chance) {
    if (change.type == Change::Type::kWrite) return PutSome(change, chance);
    if (chance.OneIn(2)) return;
    switch (change.type) {
      case Change::Type::kWrite: return;
      case Change::Type::kTruncate: (void)!Calls().ftruncate(change.file, change.new_size); return;
      case Change::Type::kCreate: Calls().rename(change.grave.c_str(), change.path.c_str()); return;
      case Change::Type::kFolder: Calls().mkdir(change.path.c_str(), 0777); return;
      case Change::Type::kUnlink: Calls().unlink(change.path.c_str()); return;
      case Change::Type::kRename:
        // Without its creation, which the seed may have left out, it is left out, too.
        Calls().rename(change.path.c_str(), change.to.c_str());
        return;
    }
  }

  static void PutSome(const Change& change, Chance& chance) {
    for (size_t done = 0; done < change.after.size();) {
      const auto at = change.offset + static_cast<off_t>(done);
      const size_t left = kSectorBytes - static_cast<size_t>(at) % kSectorBytes;
      const size_t count = std::min(left, change.after.size() - done);
      if (chance.OneIn(2)) Put(change.file, change.after.substr(done, count), at);
      done += count;
    }
  }

  static void Put(int file, const std::string& bytes, off_t offset) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = Calls().pwrite(file, bytes.data() + done, bytes.size() - done,
                                           offset + static_cast<off_t>(done));
      if (count <= 0) abort();
      done += static_cast<size_t>(count);
    }
  }

  const std::string folder_;  // Ends in '/'.
  const std::string grave_;
  const pid_t process_ = getpid();  // A child between fork and exec is none of ours.
  FaultControl* control_ = nullptr;
  int history_ = -1;
  std::array<std::atomic<bool>, kMostDescriptors> tracked_{};
  Mutex mutex_;  // What follows, and that one call is made at a time.
  std::vector<Change> changes_;
  std::map<Key, int> own_;  // A descriptor of ours for each file.
  int graves_ = 0;
};

// Null in a program that was not told which folder.
FaultDisk* Disk() {
  static FaultDisk* const disk = [] {
    const char* folder = getenv(kFaultFolder);
    const char* control = getenv(kFaultControl);
    const char* history = getenv(kFaultHistory);
    const char* grave = getenv(kFaultGrave);
    const bool told = folder != nullptr && control != nullptr && history != nullptr && grave;
    return told ? new FaultDisk(folder, control, history, grave) : nullptr;
  }();
  return disk;
}

constexpr auto kNothing = [] {};
constexpr auto kAsItIs = [](const auto& call) { return call(); };

int Open(const char* path, int flags, mode_t mode) {
  FaultDisk* const disk = Disk();
  const auto open = [&] { return Calls().open(path, flags, mode); };
  if (disk == nullptr || !disk->IsOurs(path)) return open();
  int file = -1;
  if ((flags & O_CREAT) != 0 && !Exists(path)) {
    file = disk->Do("create", path, open, kNothing, [&](const auto& call) {
      return disk->NoteCreate(path, Change::Type::kCreate, call);
    });
  } else {
    file = open();
  }
  if (file >= 0) disk->Track(file, true);
  return file;
}

ssize_t WriteAt(int file, const void* bytes, size_t count, off_t offset) {
  FaultDisk* const disk = Disk();
  const auto some = [&](size_t part) {
    return offset < 0 ? Calls().write(file, bytes, part)
                      : Calls().pwrite(file, bytes, part, offset);
  };
  const auto write = [&] { return some(count); };
  if (disk == nullptr || !disk->IsOurs(file)) return write();
  return disk->Do(
      "write", disk->PathOf(file), write, [&] { (void)!some(count / 2); },
      [&](const auto& call) { return disk->NoteWrite(file, bytes, count, offset, call); });
}

int Truncate(int file, off_t size) {
  FaultDisk* const disk = Disk();
  const auto truncate = [&] { return Calls().ftruncate(file, size); };
  if (disk == nullptr || !disk->IsOurs(file)) return truncate();
  return disk->Do("truncate", disk->PathOf(file), truncate, kNothing,
                  [&](const auto& call) { return disk->NoteTruncate(file, size, call); });
}

int Sync(int file, const char* name, int (*sync)(int)) {
  FaultDisk* const disk = Disk();
  if (disk == nullptr || !disk->IsOurs(file)) return sync(file);
  return disk->Do(
      name, disk->PathOf(file), [&] { return sync(file); }, kNothing,
      [&](const auto& call) { return disk->NoteSync(file, call); });
}

int Unlink(const char* path, const char* name, int (*unlink)(const char*)) {
  FaultDisk* const disk = Disk();
  if (disk == nullptr || !disk->IsOurs(path)) return unlink(path);
  return disk->Do(
      name, path, [&] { return unlink(path); }, kNothing,
      [&](const auto& call) { return disk->NoteUnlink(path, call); });
}

}  // namespace
}  // namespace noisefloor::test

// The functions of the C library, each under both of its names: files are large everywhere.
using noisefloor::test::Calls;
using noisefloor::test::Change;
using noisefloor::test::Disk;
using noisefloor::test::FaultDisk;
using noisefloor::test::kAsItIs;
using noisefloor::test::kNothing;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return noisefloor::test::Open(path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int mkostemp(char* path, int flags) {
  FaultDisk* const disk = Disk();
  const auto make = [&] { return Calls().mkostemp(path, flags); };
  if (disk == nullptr || !disk->IsOurs(path)) return make();
  const int file = disk->Do("create", path, make, kNothing, [&](const auto& call) {
    return disk->NoteCreate(path, Change::Type::kCreate, call);
  });
  if (file >= 0) disk->Track(file, true);
  return file;
}
int mkostemp64(char* path, int flags) __attribute__((alias("mkostemp")));

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return noisefloor::test::WriteAt(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset)
    __attribute__((alias("pwrite")));

int ftruncate(int file, off_t size) noexcept { return noisefloor::test::Truncate(file, size); }
int ftruncate64(int file, off_t size) noexcept __attribute__((alias("ftruncate")));

int close(int file) {
  if (FaultDisk* const disk = Disk(); disk != nullptr && disk->IsOurs(file)) {
    disk->Track(file, false);
  }
  return Calls().close(file);
}

ssize_t write(int file, const void* bytes, size_t count) {
  return noisefloor::test::WriteAt(file, bytes, count, -1);
}

int fsync(int file) { return noisefloor::test::Sync(file, "sync", Calls().fsync); }

int fdatasync(int file) { return noisefloor::test::Sync(file, "datasync", Calls().fdatasync); }

int unlink(const char* path) noexcept {
  return noisefloor::test::Unlink(path, "unlink", Calls().unlink);
}

int remove(const char* path) noexcept {
  return noisefloor::test::Unlink(path, "remove", Calls().remove);
}

int rename(const char* from, const char* to) noexcept {
  FaultDisk* const disk = Disk();
  const auto rename = [&] { return Calls().rename(from, to); };
  if (disk == nullptr || !disk->IsOurs(to)) return rename();
  return disk->Do("rename", to, rename, kNothing,
                  [&](const auto& call) { return disk->NoteRename(from, to, call); });
}

// Of trees that are removed whole: counted, and not taken back when power goes.
int unlinkat(int folder, const char* path, int flags) noexcept {
  FaultDisk* const disk = Disk();
  const auto unlink = [&] { return Calls().unlinkat(folder, path, flags); };
  if (disk == nullptr) return unlink();
  const std::string whole =
      path[0] == '/' || folder == AT_FDCWD ? path : disk->PathOf(folder) + "/" + path;
  if (!disk->IsOurs(whole.c_str())) return unlink();
  return disk->Do("unlink", whole, unlink, kNothing, kAsItIs);
}

int mkdir(const char* path, mode_t mode) noexcept {
  FaultDisk* const disk = Disk();
  const auto make = [&] { return Calls().mkdir(path, mode); };
  if (disk == nullptr || !disk->IsOurs(path)) return make();
  return disk->Do("mkdir", path, make, kNothing, [&](const auto& call) {
    return disk->NoteCreate(path, Change::Type::kFolder, call);
  });
}

}  // extern "C"
