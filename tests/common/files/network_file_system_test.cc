#include "common/files/network_file_system.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(NetworkFileSystemTest, ThoseOfClustersAreKnownByNumber) {
  EXPECT_EQ(NetworkFileSystem(0x6969), "nfs");
  EXPECT_EQ(NetworkFileSystem(0x0BD00BD0), "lustre");
  EXPECT_EQ(NetworkFileSystem(0x47504653), "gpfs");
  EXPECT_EQ(NetworkFileSystem(0x19830326), "beegfs");
  EXPECT_EQ(NetworkFileSystem(0x00C36400), "ceph");
  EXPECT_EQ(NetworkFileSystem(0xFF534D42), "cifs");
  EXPECT_EQ(NetworkFileSystem(0xFE534D42), "smb2");
  EXPECT_EQ(NetworkFileSystem(0x01021997), "9p");
}

TEST(NetworkFileSystemTest, ThoseOfThisMachineAreNone) {
  EXPECT_EQ(NetworkFileSystem(0xEF53), "") << "ext4";
  EXPECT_EQ(NetworkFileSystem(0x58465342), "") << "xfs";
  EXPECT_EQ(NetworkFileSystem(0x9123683E), "") << "btrfs";
  EXPECT_EQ(NetworkFileSystem(0x01021994), "") << "tmpfs";
  EXPECT_EQ(NetworkFileSystem(0x794C7630), "") << "overlayfs, of containers";
  EXPECT_EQ(NetworkFileSystem(0x65735546), "") << "FUSE: its number says nothing";
}

TEST(NetworkFileSystemTest, OfFuseTheTypeSays) {
  for (const char* type : {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs",
                           "fuse.gcsfuse", "fuse.rclone", "fuse.juicefs", "fuse.blobfuse2"}) {
    EXPECT_TRUE(IsNetworkFuse(type)) << type;
  }
  for (const char* type : {"", "fuse", "fuse.ntfs-3g", "fuseblk", "fuse.fuse-overlayfs", "virtiofs",
                           "fuse.sshfsx", "fuse.portal"}) {
    EXPECT_FALSE(IsNetworkFuse(type)) << type;
  }
}

TEST(NetworkFileSystemTest, AMountIsFoundByItsDevice) {
  constexpr char kInfo[] =
      "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "31 24 0:48 / /mnt/a\\040b rw,nosuid shared:7 master:2 - fuse.sshfs ada@box:/srv rw\n"
      "32 24 0:4 / /proc rw - proc proc rw\n";

  EXPECT_EQ(MountType(kInfo, 0, 48), "fuse.sshfs");
  EXPECT_EQ(MountType(kInfo, 0, 4), "proc");
  EXPECT_EQ(MountType(kInfo, 8, 1), "ext4");
  EXPECT_EQ(MountType(kInfo, 8, 2), "");
}

TEST(NetworkFileSystemTest, APathIsAskedFor) {
  EXPECT_EQ(NetworkFileSystemAt("/proc").value(), "");
  EXPECT_EQ(NetworkFileSystemAt("/nowhere/at/all").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace noisefloor
