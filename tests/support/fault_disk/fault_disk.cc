#include "tests/support/fault_disk/fault_disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>

#include "common/base/check.h"

namespace noisefloor::test {

namespace {

constexpr char kControlFile[] = "/control";
constexpr char kHistoryFile[] = "/history";
constexpr char kGraveFolder[] = "/grave";

}  // namespace

FaultDisk::FaultDisk(const std::string& folder)
    : folder_(std::filesystem::weakly_canonical(folder).string()) {
  const std::string own = folder_ + ".fault";
  std::filesystem::create_directories(own + kGraveFolder);
  std::ofstream(own + kControlFile) << std::string(sizeof(FaultControl), '\0');
  const int file = open((own + kControlFile).c_str(), O_RDWR | O_CLOEXEC);
  void* memory = mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  NF_CHECK(memory != MAP_FAILED);
  control_ = new (memory) FaultControl();
}

FaultDisk::~FaultDisk() { munmap(control_, sizeof(FaultControl)); }

std::vector<std::string> FaultDisk::Under(const std::vector<std::string>& arguments) const {
  const std::string own = folder_ + ".fault";
  std::vector<std::string> whole = {"/usr/bin/env",
                                    "LD_PRELOAD=" FAULT_PRELOAD,
                                    std::string(kFaultFolder) + "=" + folder_,
                                    std::string(kFaultControl) + "=" + own + kControlFile,
                                    std::string(kFaultHistory) + "=" + own + kHistoryFile,
                                    std::string(kFaultGrave) + "=" + own + kGraveFolder};
  whole.insert(whole.end(), arguments.begin(), arguments.end());
  return whole;
}

void FaultDisk::FailIn(int64_t calls, FaultKind kind, uint64_t seed) {
  Mend();
  control_->kind = kind;
  control_->seed = seed;
  control_->at = control_->calls + calls;
}

void FaultDisk::FailFrom(int64_t calls, FaultKind kind) {
  Mend();
  control_->lasting = 1;
  control_->kind = kind;
  control_->at = control_->calls + calls;
}

void FaultDisk::Mend() {
  control_->at = 0;
  control_->lasting = 0;
  control_->fired = 0;
}

std::vector<std::string> FaultDisk::History() const {
  std::ifstream file(folder_ + ".fault" + kHistoryFile);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone: return "none";
    case FaultKind::kKill: return "kill";
    case FaultKind::kKillAfter: return "kill after";
    case FaultKind::kTorn: return "torn";
    case FaultKind::kPower: return "power";
    case FaultKind::kEio: return "EIO";
    case FaultKind::kEnospc: return "ENOSPC";
  }
  return "";
}

}  // namespace noisefloor::test
