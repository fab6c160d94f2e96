#include "coordinator/cli/unpack.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "archive.h"
#include "archive_entry.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() {
    std::string path = ::testing::TempDir() + "/unpack-XXXXXX";
    folder_ = mkdtemp(path.data());
    fs::create_directory(Into());
    archive_ = archive_write_new();
    archive_write_add_filter_gzip(archive_);
    archive_write_set_format_ustar(archive_);
    EXPECT_EQ(archive_write_open_filename(archive_, Path().c_str()), ARCHIVE_OK);
  }
  ~UnpackTest() override {
    Close();
    fs::remove_all(folder_);
  }

  void Add(const std::string& name, const std::string& content, int type = AE_IFREG,
           const std::string& link = "") {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned>(type));
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<int64_t>(content.size()));
    if (!link.empty()) archive_entry_set_symlink(entry, link.c_str());
    EXPECT_EQ(archive_write_header(archive_, entry), ARCHIVE_OK);
    archive_write_data(archive_, content.data(), content.size());
    archive_entry_free(entry);
  }
  void Close() {
    if (archive_ != nullptr) archive_write_free(archive_);
    archive_ = nullptr;
  }
  absl::Status UnpackAll(uint64_t limit_bytes = 1000) {
    Close();
    return Unpack(Path(), Into(), limit_bytes);
  }

  std::string Path() const { return folder_ + "/a.tar.gz"; }
  std::string Into() const { return folder_ + "/into"; }

  std::string folder_;
  archive* archive_ = nullptr;
};

TEST_F(UnpackTest, WritesFilesBelowTheFolder) {
  Add("set", "", AE_IFDIR);
  Add("set/a.bin", "abc");
  const absl::Status status = UnpackAll();
  ASSERT_TRUE(status.ok()) << status;
  std::ifstream file(Into() + "/set/a.bin");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "abc");
}

TEST_F(UnpackTest, RefusesPathsThatLeadOutside) {
  Add("set/../../evil", "x");
  EXPECT_THAT(Message(UnpackAll()), HasSubstr("refuses the path set/../../evil"));
  EXPECT_FALSE(fs::exists(folder_ + "/evil"));
}

TEST_F(UnpackTest, RefusesLinks) {
  Add("link", "", AE_IFLNK, "/etc/passwd");
  EXPECT_THAT(Message(UnpackAll()), HasSubstr("link is neither a file nor a folder"));
  EXPECT_TRUE(fs::is_empty(Into()));
}

TEST_F(UnpackTest, RefusesMoreThanItsLimit) {
  Add("big", std::string(2000, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(UnpackAll(1999)));
  EXPECT_FALSE(fs::exists(Into() + "/big"));
}

TEST_F(UnpackTest, ItsLimitIsThatOfAllFilesTogether) {
  Add("a", std::string(600, 'x'));
  Add("b", std::string(600, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(UnpackAll(1199)));
  EXPECT_FALSE(fs::exists(Into() + "/b"));
  EXPECT_TRUE(UnpackAll(1200).ok());
  EXPECT_EQ(fs::file_size(Into() + "/b"), 600u);
}

TEST_F(UnpackTest, OfADamagedArchiveIsDataLoss) {
  std::string noise;
  for (unsigned i = 0; i < 50'000; ++i) noise += static_cast<char>((i * 2654435761u) >> 24);
  Add("a", noise);
  Close();
  fs::resize_file(Path(), fs::file_size(Path()) / 2);
  EXPECT_TRUE(absl::IsDataLoss(Unpack(Path(), Into(), 100'000)));
  EXPECT_FALSE(fs::exists(Into() + "/a")) << "no half of a file";
  std::ofstream(Path()) << "no archive at all";
  EXPECT_TRUE(absl::IsDataLoss(Unpack(Path(), Into(), 100'000)));
}

}  // namespace
}  // namespace noisefloor::cli
