// Access files: what they hold, who can read them, where they are found.
#include "common/access/access_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/access/redirect.h"
#include "common/files/atomic_file.h"
#include "common/files/private_file.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;
using testing::Not;

const AccessFile kFile = {
    "box:7077", "nfl_alice_00",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n"};

mode_t ModeOf(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(stat(path.c_str(), &about), 0);
  return about.st_mode & 0777;
}

TEST(AccessFile, IsReadBackAsItWasWritten) {
  const TempHome folder;
  const std::string path = folder.path() + "/alice.access";
  ASSERT_TRUE(WriteAccessFile(path, kFile).ok());

  const absl::StatusOr<AccessFile> read = ReadAccessFile(path);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->coordinator, kFile.coordinator);
  EXPECT_EQ(read->token, kFile.token);
  EXPECT_EQ(read->certificate, kFile.certificate);
}

TEST(AccessFile, OnlyItsOwnerCanReadItAlsoWhereItReplacesAnother) {
  const TempHome folder;
  const std::string path = folder.path() + "/alice.access";
  std::ofstream(path) << "old";
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  ASSERT_TRUE(WriteAccessFile(path, kFile).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    EXPECT_EQ(entry.path().filename(), "alice.access");
  }
  EXPECT_EQ(files, 1u) << "nothing is left aside";
}

TEST(AccessFile, AFolderThatIsNotThereIsNamed) {
  const TempHome folder;
  EXPECT_THAT(Message(WritePrivateFile(folder.path() + "/none/file", "x")),
              HasSubstr(folder.path() + "/none"));
}

TEST(AccessFile, CarriageReturnsCommentsAndEmptyLinesDoNoHarm) {
  const auto file = ParseAccessFile(
      "# mine\r\n\r\ntoken nfl_a_0\r\ncoordinator [::1]:7\r\n-----BEGIN CERTIFICATE-----\nx");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->token, "nfl_a_0");
  EXPECT_EQ(file->coordinator, "[::1]:7");
}

TEST(AccessFile, WhatIsMissingIsSaidAndTheTokenIsNot) {
  const std::string whole = ToText(kFile);
  const auto without = [&](const std::string& start) {
    std::string text = whole;
    const size_t at = text.find(start);
    text.erase(at, start.starts_with("-----") ? std::string::npos : text.find('\n', at) - at + 1);
    const absl::Status status = ParseAccessFile(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), Not(HasSubstr("nfl_")));
    return Message(status);
  };
  EXPECT_THAT(without("coordinator "), HasSubstr("coordinator HOST:PORT"));
  EXPECT_THAT(without("token "), HasSubstr("token TOKEN"));
  EXPECT_THAT(without("-----BEGIN"), HasSubstr("expected a certificate"));
  EXPECT_THAT(Message(ParseAccessFile("tokens nfl_secret").status()),
              AllOf(HasSubstr("line 1: expected"), Not(HasSubstr("nfl_"))));
}

TEST(AccessFile, AFolderHasOneForEachKindOfProgram) {
  const TempHome folder;
  const auto find = [&](AccessUser user) { return FindAccessFile(folder.path(), user); };
  EXPECT_EQ(Message(find(AccessUser::kWorker).status()), folder.path() + ": has no worker.access");
  EXPECT_EQ(Message(find(AccessUser::kPerson).status()),
            folder.path() + ": has no admin.access, no submitter.access, no reader.access");
  std::ofstream(folder.path() + "/submitter.access") << "x";
  EXPECT_EQ(*find(AccessUser::kPerson), folder.path() + "/submitter.access");
  EXPECT_FALSE(find(AccessUser::kWorker).ok());
  std::ofstream(folder.path() + "/admin.access") << "x";
  std::ofstream(folder.path() + "/worker.access") << "x";
  EXPECT_EQ(*find(AccessUser::kPerson), folder.path() + "/admin.access");
  EXPECT_EQ(*find(AccessUser::kWorker), folder.path() + "/worker.access");
  const std::string file = folder.path() + "/worker.access";
  EXPECT_EQ(*FindAccessFile(file, AccessUser::kPerson), file) << "a file is for whoever names it";
  EXPECT_EQ(FindAccessFile(file + "x", AccessUser::kPerson).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(AccessFile, ThoseOfACoordinatorThatMovedNameItWhereItIs) {
  const TempHome folder;
  const auto at = [&](const std::string& name) { return folder.path() + "/" + name; };
  AccessFile others = kFile;
  others.certificate = "-----BEGIN CERTIFICATE-----\nof another authority\n";
  ASSERT_TRUE(WriteAccessFile(at("admin.access"), kFile).ok());
  ASSERT_TRUE(WriteAccessFile(at("others.access"), others).ok());
  ASSERT_TRUE(WriteAccessFile(at("worker.access"), kFile).ok());
  std::ofstream(at("broken.access")) << "no access file";
  std::ofstream(at("notes.txt")) << "coordinator box:7077";

  const auto pointed = PointAccessFiles(folder.path(), kFile.certificate, "nas:4000");

  ASSERT_TRUE(pointed.ok()) << pointed.status();
  EXPECT_EQ(*pointed, (std::vector<std::string>{at("admin.access"), at("worker.access")}));
  for (const std::string& path : *pointed) {
    const AccessFile read = ReadAccessFile(path).value_or(AccessFile());
    EXPECT_EQ(read.coordinator, "nas:4000");
    EXPECT_EQ(read.token, kFile.token);
    EXPECT_EQ(read.certificate, kFile.certificate);
    EXPECT_EQ(ModeOf(path), 0600u);
  }
  EXPECT_EQ(ReadAccessFile(at("others.access"))->coordinator, "box:7077");
  EXPECT_EQ(ReadFile(at("broken.access"), 100).value_or(""), "no access file");
  // One file alone, which its group may read and still may.
  ASSERT_EQ(chmod(at("worker.access").c_str(), 0640), 0);
  EXPECT_EQ(PointAccessFiles(at("worker.access"), kFile.certificate, "box:1")->size(), 1u);
  EXPECT_EQ(ModeOf(at("worker.access")), 0640u);
  EXPECT_EQ(ReadAccessFile(at("admin.access"))->coordinator, "nas:4000");
}

}  // namespace
}  // namespace noisefloor
