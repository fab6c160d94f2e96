// Downloads from a web server in this process.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/data_sets.h"
#include "coordinator/cli/download.h"
#include "httplib.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

const std::string kContent = [] {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\n";
  return text;
}();

// /whole honours ranges, /stubborn does not, /short ends early, /none is missing.
class WebServer {
 public:
  WebServer() {
    server_.Get("/whole", [this](const httplib::Request& request, httplib::Response& response) {
      range_ = request.get_header_value("Range");
      ++requests_;
      response.set_content(kContent, "application/octet-stream");
    });
    server_.Get("/stubborn", [this](const httplib::Request& request, httplib::Response& response) {
      ++requests_;
      const_cast<httplib::Request&>(request).ranges.clear();
      response.set_content(kContent, "application/octet-stream");
    });
    server_.Get("/short", [](const httplib::Request&, httplib::Response& response) {
      response.set_content_provider(kContent.size(), "application/octet-stream",
                                    [](size_t offset, size_t, httplib::DataSink& sink) {
                                      if (offset > 0) return false;
                                      sink.write(kContent.data(), 1000);
                                      return true;
                                    });
    });
    server_.Get(".*-ubyte.gz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("not what was published", "application/octet-stream");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~WebServer() {
    server_.stop();
    thread_.join();
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + path;
  }
  const std::string& range() const { return range_; }  // Of the last request for /whole.
  int requests() const { return requests_; }

 private:
  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
  std::string range_;
  std::atomic<int> requests_ = 0;
};

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    std::string path = ::testing::TempDir() + "/download-XXXXXX";
    folder_ = mkdtemp(path.data());
  }
  ~DownloadTest() override { fs::remove_all(folder_); }

  DownloadRequest Request(const std::string& name) const {
    return {.url = server_.url(name), .path = File(), .sha256 = Sha256Hex(kContent)};
  }
  std::string File() const { return folder_ + "/file"; }
  std::string Part() const { return File() + ".part"; }
  void HavePart(const std::string& content) const { std::ofstream(Part()) << content; }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  WebServer server_;
  std::string folder_;
};

TEST_F(DownloadTest, BringsTheWholeFileAndReportsProgress) {
  DownloadRequest request = Request("whole");
  uint64_t most = 0;
  uint64_t whole = 0;
  request.progress = [&](uint64_t received, uint64_t total) {
    most = std::max(most, received);
    whole = std::max(whole, total);
  };
  const absl::Status status = Download(request);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(File()), kContent);
  EXPECT_FALSE(fs::exists(Part()));
  EXPECT_EQ(most, kContent.size());
  EXPECT_EQ(whole, kContent.size());
}

TEST_F(DownloadTest, GoesOnAfterThePartThatIsThere) {
  HavePart(kContent.substr(0, 5000));
  DownloadRequest request = Request("whole");
  std::pair<uint64_t, uint64_t> most;
  request.progress = [&](uint64_t received, uint64_t total) {
    most = std::max(most, std::pair(received, total));
  };
  const absl::Status status = Download(request);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(File()), kContent);
  EXPECT_EQ(server_.range(), "bytes=5000-");
  EXPECT_EQ(most, std::pair(kContent.size(), kContent.size())) << "with what was there";
}

TEST_F(DownloadTest, BeginsAnewWhenTheServerCannotGoOn) {
  HavePart(kContent.substr(0, 5000));
  const absl::Status status = Download(Request("stubborn"));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(File()), kContent);
}

TEST_F(DownloadTest, BeginsAnewWhenThePartIsLongerThanTheFile) {
  HavePart(kContent + "and more");
  const absl::Status status = Download(Request("whole"));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(File()), kContent);
}

TEST_F(DownloadTest, AsksForNothingWhenTheFileIsThere) {
  std::ofstream(File()) << kContent;
  EXPECT_TRUE(Download(Request("whole")).ok());
  EXPECT_EQ(server_.requests(), 0);
}

TEST_F(DownloadTest, KeepsAWholePartWithoutAsking) {
  HavePart(kContent);
  EXPECT_TRUE(Download(Request("whole")).ok());
  EXPECT_EQ(server_.requests(), 0);
  EXPECT_EQ(Content(File()), kContent);
}

TEST_F(DownloadTest, RefusesAnotherHashAndLeavesNothing) {
  DownloadRequest request = Request("whole");
  request.sha256 = Sha256Hex("another");
  const absl::Status status = Download(request);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(Message(status),
            request.url + ": expected SHA-256 " + request.sha256 + ", got " + Sha256Hex(kContent));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DownloadTest, OfWhatIsNotThereIsNotFoundAndLeavesNothing) {
  const absl::Status status = Download(Request("none"));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(Message(status), server_.url("none") + ": the server answers 404");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DownloadTest, ThatEndsEarlyKeepsThePartForTheNextTry) {
  const absl::Status status = Download(Request("short"));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("ended early; the same command goes on"));
  EXPECT_FALSE(fs::exists(File()));
  EXPECT_EQ(Content(Part()), kContent.substr(0, 1000));
  EXPECT_TRUE(Download(Request("whole")).ok());
  EXPECT_EQ(server_.range(), "bytes=1000-");
}

TEST_F(DownloadTest, ThatIsStoppedIsCancelled) {
  DownloadRequest request = Request("whole");
  request.stop = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(Download(request)));
  EXPECT_FALSE(fs::exists(File()));
}

TEST_F(DownloadTest, ReadsNoFilesOfThisMachine) {
  DownloadRequest request = Request("whole");
  request.url = "file:///etc/passwd";
  EXPECT_FALSE(Download(request).ok());
  EXPECT_FALSE(fs::exists(File()));
}

TEST_F(DownloadTest, ASetOfFilesIsWholeOrNamesWhatIsMissing) {
  DownloadableSet set = {.name = "toy",
                         .base_url = server_.url(""),
                         .folder = "toy",
                         .files = {{"whole", Sha256Hex(kContent)}},
                         .members = {"whole"}};
  ASSERT_TRUE(GetSet(set, {.data_root = folder_}).ok());
  EXPECT_TRUE(MissingFiles(set, folder_).empty());
  set.members.push_back("other");
  const absl::Status status = GetSet(set, {.data_root = folder_});
  EXPECT_EQ(Message(status), "toy: the download has no other");
}

TEST_F(DownloadTest, TheCommandRefusesAMirrorWithOtherFiles) {
  CommandLine line;
  const Printed printed =
      line.Run({"data", "get", "fashion-mnist", "--to=" + folder_, "--from=" + server_.url("")});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("train-images-idx3-ubyte.gz: expected SHA-256 3aede38d"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/fashion-mnist"));
}

TEST_F(DownloadTest, TheCommandKnowsItsSets) {
  CommandLine line;
  const Printed unknown = line.Run({"data", "get", "imagenet"});
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_EQ(unknown.err,
            "noisefloor: name imagenet: expected cifar10 or fashion-mnist\n"
            "See `noisefloor data get --help`.\n");
  const Printed list = line.Run({"data", "list", "--to=" + folder_});
  EXPECT_EQ(list.code, kDone) << list.err;
  EXPECT_THAT(list.out, HasSubstr(folder_ + "/cifar-10-batches-bin"));
  const Printed verify = line.Run({"data", "verify", "cifar10", "--to=" + folder_});
  EXPECT_EQ(verify.code, kRefused);
  EXPECT_THAT(verify.err, HasSubstr("cifar-10-batches-bin"));
}

TEST_F(DownloadTest, AWrongDataRootIsNamed) {
  CommandLine line;
  const Printed printed = line.Run({"replay", "s1c0r0", "--data-root=" + folder_ + ":/no/where"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_EQ(printed.err, "noisefloor replay: --data-root=" + folder_ +
                             ":/no/where: there is no folder /no/where\n");
}

TEST_F(DownloadTest, DataSetsOfAxesAreLookedFor) {
  std::ostringstream said;
  const SystemClock clock;
  const Context context{.out = said, .err = said, .clock = clock, .start_coordinator = {}};
  v1::Sweep sweep;
  const auto add = [&](const std::string& path, std::vector<std::string> texts) {
    v1::AxisColumn& column = *sweep.add_axes()->add_columns();
    column.set_path(path);
    for (std::string& text : texts) column.add_values()->set_text(std::move(text));
  };
  add("notes", {"cifar100"});
  fs::create_directories(folder_ + "/cifar-10-batches-bin");
  add("data.name", {"cifar10"});
  EXPECT_TRUE(CheckDataIsHere(context, sweep, {folder_}).ok());
  add("data.name", {"cifar10", "mnist"});
  const absl::Status missing = CheckDataIsHere(context, sweep, {folder_});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("data set mnist: no folder mnist in " + folder_));
}

TEST_F(DownloadTest, DataThatAreNotWhatTheyShouldBeDoNotHold) {
  fs::copy(std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/data", folder_,
           fs::copy_options::recursive);
  const std::string labels = folder_ + "/fashion-mnist-sample/t10k-labels-idx1-ubyte";
  ASSERT_TRUE(fs::remove(labels + ".gz"));
  std::ofstream(labels, std::ios::binary)  // A thousand T-shirts.
      << std::string("\0\0\x08\x01\0\0\x03\xe8", 8) << std::string(1000, '\0');
  CommandLine line;
  const Printed printed = line.Run({"data", "verify", "fashion-mnist-sample", "--to=" + folder_});
  EXPECT_EQ(printed.code, kDidNotHold);
  EXPECT_THAT(printed.err, HasSubstr("noisefloor data: "));
}

TEST_F(DownloadTest, TheSampleOfTheRepositoryIsVerifiedByItsContent) {
  CommandLine line;
  const std::string root = std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/data";
  const Printed printed = line.Run({"data", "verify", "fashion-mnist-sample", "--to=" + root});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("6000 + 1000 examples"));
  EXPECT_THAT(printed.out, HasSubstr("as expected"));
}

}  // namespace
}  // namespace noisefloor::cli
