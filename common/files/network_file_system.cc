#include "common/files/network_file_system.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "fmt/format.h"

#include "common/files/file_error.h"

namespace noisefloor {

namespace {

constexpr uint32_t kFuse = 0x65735546;

// Beside these, what begins with one of them and a '-' or a digit.
constexpr std::array<std::string_view, 22> kNetworkFuses = {
    "sshfs",         "glusterfs", "ceph",     "s3fs",      "goofys",  "mount-s3",
    "mountpoint-s3", "gcsfuse",   "blobfuse", "rclone",    "juicefs", "mfs",
    "moosefs",       "lizardfs",  "saunafs",  "seaweedfs", "davfs",   "curlftpfs",
    "cvmfs",         "quobyte",   "alluxio",  "hdfs"};

std::string TextOf(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

// Numbers from statfs(2) and the kernel's linux/magic.h; of what is no part of Linux from its own
// sources.
std::string_view NetworkFileSystem(uint32_t statfs_type) {
  switch (statfs_type) {
    case 0x6969: return "nfs";
    case 0x517B: return "smb";
    case 0xFF534D42: return "cifs";
    case 0xFE534D42: return "smb2";
    case 0x5346414F: return "afs";
    case 0x6B414653: return "kafs";
    case 0x00C36400: return "ceph";
    case 0x0BD00BD0: return "lustre";
    case 0x47504653: return "gpfs";
    case 0x19830326: return "beegfs";
    case 0x20030528: return "orangefs";
    case 0xAAD7AAEA: return "panfs";
    case 0x01021997: return "9p";
    case 0x73757245: return "coda";
    case 0x564C: return "ncp";
    case 0x01161970: return "gfs2";
    case 0x7461636F: return "ocfs2";
    default: return "";
  }
}

bool IsNetworkFuse(std::string_view type) {
  if (type.starts_with("fuse.")) type.remove_prefix(5);
  return std::ranges::any_of(kNetworkFuses, [&](std::string_view name) {
    if (!type.starts_with(name)) return false;
    const std::string_view rest = type.substr(name.size());
    return rest.empty() || rest[0] == '-' || (rest[0] >= '0' && rest[0] <= '9');
  });
}

// A line: id, parent, MAJOR:MINOR, root, mount point, options, any more fields, "-", TYPE, ...
std::string MountType(std::string_view mountinfo, uint32_t major, uint32_t minor) {
  const std::string device = fmt::format("{}:{}", major, minor);
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::string found;
    for (int i = 0; i < 3 && words >> word; ++i) found = word;
    if (found != device) continue;
    while (words >> word && word != "-") {
    }
    if (words >> word) return word;
  }
  return "";
}

absl::StatusOr<std::string> NetworkFileSystemAt(const std::string& path) {
  struct statfs about {};
  if (statfs(path.c_str(), &about) != 0) return FileError(path, "inspect", errno);
  const auto number = static_cast<uint32_t>(about.f_type);
  if (number != kFuse) return std::string(NetworkFileSystem(number));
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return FileError(path, "inspect", errno);
  std::string type =
      MountType(TextOf("/proc/self/mountinfo"), major(found.st_dev), minor(found.st_dev));
  if (!IsNetworkFuse(type)) type.clear();
  return type;
}

}  // namespace noisefloor
