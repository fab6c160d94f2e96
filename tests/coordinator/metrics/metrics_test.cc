// What Prometheus reads of a real coordinator, and who may.
#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "common/access/access_file.h"
#include "common/base/clock.h"
#include "coordinator/certificates/access_folder.h"
#include "httplib.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPath[] = "/metrics";

std::string Get(const std::string& address) {
  const absl::StatusOr<Address> where = ParseAddress(address);
  httplib::Client client(where->host, where->port);
  const httplib::Result answer = client.Get(kPath);
  EXPECT_TRUE(answer) << httplib::to_string(answer.error());
  if (!answer) return "";
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  return answer->body;
}

// The value of the sample of exactly that name and labels; -1: there is none.
double ValueOf(const std::string& text, const std::string& sample) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(sample + " ")) return std::stod(line.substr(sample.size() + 1));
  }
  return -1;
}

// Of a histogram without labels, in order.
std::vector<double> BucketsOf(const std::string& text, const std::string& name) {
  std::vector<double> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "_bucket{"))
      counts.push_back(std::stod(line.substr(line.find('}') + 2)));
  }
  return counts;
}

// "noisefloor_members gauge", as the text declares it.
std::set<std::string> DeclaredIn(const std::string& text) {
  std::set<std::string> declared;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) declared.insert(line.substr(7));
  }
  return declared;
}

std::set<std::string> Documented() {
  std::ifstream file(std::string(getenv("NOISEFLOOR_SOURCE")) + "/deploy/README.md");
  const std::regex row(R"(\| `((?:noisefloor|process)_[a-z_]+)` \| ([a-z]+) \| .*)");
  std::set<std::string> documented;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, row)) documented.insert(match.str(1) + " " + match.str(2));
  }
  return documented;
}

class MetricsTest : public CoordinatorTest {
 protected:
  MetricsTest() {
    coordinator_.reset();
    auto coordinator = Coordinator::Start({.home = home_.path(),
                                           .listen = "127.0.0.1:0",
                                           .metrics = "127.0.0.1:0",
                                           .lease_ttl = absl::Minutes(2)});
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
    channel_ = MakeChannel(*ParseAddress(coordinator_->address()));
    people_ = v1::CoordinatorService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }

  std::string Scrape() { return Get(coordinator_->metrics_address()); }
};

TEST_F(MetricsTest, AreThoseOfTheTable) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const std::string text = Scrape();
  EXPECT_FALSE(Documented().empty());
  EXPECT_EQ(DeclaredIn(text), Documented());
}

TEST_F(MetricsTest, EveryLineIsOfTheTextFormat) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const std::regex comment(R"(# (HELP|TYPE) [a-z_]+ .+)");
  const std::regex sample(
      R"x([a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? ([-+0-9.e]+|\+Inf|NaN))x");
  std::istringstream lines(Scrape());
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line, comment) || std::regex_match(line, sample)) << line;
    samples += std::regex_match(line, sample);
  }
  EXPECT_GT(samples, 50);
}

TEST_F(MetricsTest, MembersOfNoClassAreOfAny) {
  v1::Sweep anywhere = SmallSweep("a", 3);
  anywhere.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ANY);
  anywhere.mutable_hardware()->clear_classes();
  ASSERT_TRUE(Submit(anywhere).ok());
  EXPECT_EQ(ValueOf(Scrape(), "noisefloor_members{hardware=\"any\",state=\"waiting\"}"), 3);
}

TEST_F(MetricsTest, FollowALife) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 3)).ok());
  const uint64_t lease = worker.Started().lease_id();
  std::string text = Scrape();
  const auto members = [&](const std::string& state) {
    return ValueOf(text, "noisefloor_members{hardware=\"cpu-amd-avx2\",state=\"" + state + "\"}");
  };
  EXPECT_EQ(members("waiting"), 2);
  EXPECT_EQ(members("leased"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_workers_connected"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_granted_total"), 1);

  worker.SayRecords(lease, 1);
  const std::string content = "weights";
  ASSERT_TRUE(
      Upload(*workers_, {UploadHeader(lease, Sha256Hex(content), content.size()), Piece(content)})
          .ok());
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 1, {content})));
  ASSERT_TRUE(worker.Settled().accepted());
  const uint64_t second = worker.Started().lease_id();
  v1::SessionRequest failed = ScriptedWorker::Finish(second, 0);
  failed.mutable_finished()->mutable_outcome()->set_kind(v1::Outcome::KIND_FAILED);
  failed.mutable_finished()->mutable_outcome()->set_cause("bug");
  ASSERT_TRUE(worker.Send(failed));
  ASSERT_FALSE(worker.Settled().accepted());
  v1::GetSweepRequest nowhere;
  nowhere.set_sweep_id(9);
  EXPECT_FALSE(Call(&People::GetSweep, nowhere).ok());

  text = Scrape();
  EXPECT_EQ(members("done"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_ended_total{cause=\"none\"}"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_ended_total{cause=\"bug\"}"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_results_total{outcome=\"done\"}"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_records_total"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_uploads_total"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_upload_bytes_total"), 7);
  EXPECT_EQ(ValueOf(text, "noisefloor_storage_writable"), 1);
  EXPECT_GT(ValueOf(text, "noisefloor_wal_bytes"), 0);
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(ValueOf(text, "noisefloor_commit_seconds_count"), 4);
  EXPECT_GE(ValueOf(text, "noisefloor_loop_piece_seconds_count"),
            ValueOf(text, "noisefloor_commit_seconds_count"));
  EXPECT_GT(ValueOf(text, "noisefloor_loop_longest_piece_seconds"), 0);
  EXPECT_EQ(ValueOf(text, "noisefloor_commit_writes_count"),
            ValueOf(text, "noisefloor_commit_seconds_count"));
  const std::string call = "noisefloor_call_seconds_count{code=\"";
  EXPECT_EQ(ValueOf(text, call + "NOT_FOUND\",method=\"CoordinatorService/GetSweep\"}"), 1);
  EXPECT_EQ(ValueOf(text, call + "OK\",method=\"CoordinatorService/SubmitSweep\"}"), 1);
  EXPECT_EQ(ValueOf(text, call + "OK\",method=\"WorkerService/Upload\"}"), 1);
}

TEST_F(MetricsTest, ABucketHoldsAllThatIsBelowItsBound) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 3)).ok());
  (void)worker.Started();
  const std::string text = Scrape();
  for (const std::string name :
       {"noisefloor_commit_seconds", "noisefloor_commit_writes", "noisefloor_loop_piece_seconds"}) {
    const std::vector<double> counts = BucketsOf(text, name);
    ASSERT_GT(counts.size(), 5u) << name;
    EXPECT_TRUE(std::ranges::is_sorted(counts)) << name;
    EXPECT_GT(counts.back(), 1) << name;
    EXPECT_EQ(counts.back(), ValueOf(text, name + "_count")) << "all are below infinity";
    EXPECT_GT(ValueOf(text, name + "_sum"), 0) << name;
  }
  EXPECT_GT(ValueOf(text, "noisefloor_commit_writes_sum"),
            ValueOf(text, "noisefloor_commit_writes_count"));
}

TEST_F(MetricsTest, HeartbeatsAndWaysToEndAreCountedApart) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 4)).ok());
  for (const bool diverges : {true, false, true, true}) {
    const uint64_t lease = worker.Started().lease_id();
    for (int beat = 0; beat < 2; ++beat) worker.SayHeld({lease});
    v1::SessionRequest end = ScriptedWorker::Finish(lease, 0);
    if (diverges) {
      end.mutable_finished()->mutable_outcome()->set_kind(v1::Outcome::KIND_DIVERGED);
    }
    ASSERT_TRUE(worker.Send(end));
    ASSERT_TRUE(worker.Settled().accepted());
  }
  const std::string text = Scrape();
  EXPECT_EQ(ValueOf(text, "noisefloor_heartbeats_total"), 8);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_granted_total"), 4);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_expired_total"), 0);
  EXPECT_EQ(ValueOf(text, "noisefloor_leases_ended_total{cause=\"none\"}"), 4);
  EXPECT_EQ(ValueOf(text, "noisefloor_results_total{outcome=\"done\"}"), 1);
  EXPECT_EQ(ValueOf(text, "noisefloor_results_total{outcome=\"diverged\"}"), 3);
  const std::string members = "noisefloor_members{hardware=\"cpu-amd-avx2\",state=\"";
  EXPECT_EQ(ValueOf(text, members + "done\"}"), 1);
  EXPECT_EQ(ValueOf(text, members + "diverged\"}"), 3);
}

TEST_F(MetricsTest, DoNotGrowWithSweepsAndMembers) {
  const auto lines = [this] {
    const std::string text = Scrape();
    EXPECT_THAT(text, Not(HasSubstr("s1c0r0")));
    return std::ranges::count(text, '\n');
  };
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const auto before = lines();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Submit(SmallSweep("b", 100)).ok());
  EXPECT_EQ(lines(), before);
}

TEST_F(MetricsTest, NothingElseIsAnswered) {
  const absl::StatusOr<Address> where = ParseAddress(coordinator_->metrics_address());
  httplib::Client client(where->host, where->port);
  EXPECT_EQ(client.Get("/")->status, 404);
  EXPECT_EQ(client.Post(kPath, "x", "text/plain")->status, 405);
}

TEST(MetricsAccessTest, OffLoopbackTheyNeedTlsAndAReadersToken) {
  TempHome home;
  CoordinatorOptions options = {
      .home = home.path(), .listen = "127.0.0.1:0", .use_access = true, .metrics = "0.0.0.0:0"};
  const auto refused = Coordinator::Start(options);
  ASSERT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(refused.status()), HasSubstr("access init"));

  ASSERT_TRUE(SetUpAccess(home.path(), "127.0.0.1:7077", {}, SystemClock().Now()).ok());
  const auto coordinator = Coordinator::Start(options);
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  const int port = ParseAddress((*coordinator)->metrics_address())->port;
  httplib::SSLClient client("127.0.0.1", port);
  client.enable_server_certificate_verification(false);
  EXPECT_EQ(client.Get(kPath)->status, 401);
  EXPECT_EQ(client.Get(kPath, {{"Authorization", "Bearer nfl_wrong"}})->status, 401);
  const auto owner = ReadAccessFile(OwnerAccessPath(home.path()));
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto read = client.Get(kPath, {{"Authorization", "Bearer " + owner->token}});
  EXPECT_EQ(read->status, 200);
  EXPECT_THAT(read->body, HasSubstr("noisefloor_build_info"));
  httplib::Client plain("127.0.0.1", port);
  EXPECT_FALSE(plain.Get(kPath)) << "not without TLS";
}

}  // namespace
}  // namespace noisefloor::test
