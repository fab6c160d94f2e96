// Whether files lie on another machine: there locks, shared memory and syncs are not what they are
// on a disk of one's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// The name of the network file system that `path` lies on, "nfs" or "fuse.sshfs"; empty for one of
// this machine. The path must be there; errors are those of FileError.
absl::StatusOr<std::string> NetworkFileSystemAt(const std::string& path);

// By the number that statfs gives; empty for a local one, and for FUSE, where it says nothing.
// Pure.
std::string_view NetworkFileSystem(uint32_t statfs_type);

// Of the types that /proc/self/mountinfo has of FUSE: whether the files of such a one are
// elsewhere. Pure.
bool IsNetworkFuse(std::string_view type);

// The type of the file system with that device number, "ext4" or "fuse.sshfs", in the text of
// /proc/self/mountinfo; empty when none has it. Pure.
std::string MountType(std::string_view mountinfo, uint32_t major, uint32_t minor);

}  // namespace noisefloor
