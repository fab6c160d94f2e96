#include <sys/resource.h>

#include <algorithm>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/data_sets.h"
#include "coordinator/cli/doctor_checks.h"
#include "coordinator/cli/doctor_machine.h"
#include "coordinator/cli/output.h"
#include "coordinator/store/restore.h"
#include "noisefloor/v1/access_api.grpc.pb.h"

namespace noisefloor::cli {

namespace {

constexpr uint64_t kMostPem = 64 << 10;                      // Bytes.
constexpr char kUsualAddress[] = "127.0.0.1:7077";           // Of `serve`.
constexpr absl::Duration kUnusedFor = absl::Hours(24 * 30);  // As `gc --caches` takes it.

Finding Unreachable(std::string check, const absl::Status& status, std::string help) {
  return {std::move(check), Level::kProblem, Message(status), std::move(help)};
}

// Of one that is there.
std::string HelpFor(const absl::Status& refusal, const Context& context) {
  if (!absl::IsUnauthenticated(refusal)) return "look at its log";
  const AccessPlaces& places = context.access_places;
  return fmt::format(
      "put a valid access file in {}: `noisefloor access add` makes one, on its machine",
      places.named.empty() ? places.usual : places.named);
}

class Doctor final : public Command {
 public:
  std::string_view Name() const override { return "doctor"; }
  std::string_view Help() const override {
    return "Check disk, clock, port, access, workers, GPUs, database, crashes; say what to do";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor doctor
  noisefloor doctor --coordinator=box:7077 --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("--data-root", data_root_, kDataRootHelp)->type_name("DIR[:DIR]");
  }

  // The coordinator's part, and what lies on this machine: the data directory only where its
  // coordinator has it here.
  absl::StatusOr<int> Run(Context& context) override {
    std::vector<Finding> findings;
    std::string home = AskCoordinator(context, findings);
    if (home.empty()) home = context.options.home;
    if (PathExists(home + "/noisefloor.db")) LookAtHome(context, home, findings);
    LookAtMachine(context, home, findings);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) findings.push_back(JudgeFileLimit(files.rlim_cur));
    for (Finding& finding : JudgeGpus(LookAtGpus())) findings.push_back(std::move(finding));
    findings.push_back(CheckData(context));
    Say(context, findings);
    const bool well = std::ranges::none_of(
        findings, [](const Finding& one) { return one.level == Level::kProblem; });
    return well ? kDone : kRefused;
  }

 private:
  // Its data directory; empty when it does not answer.
  static std::string AskCoordinator(const Context& context, std::vector<Finding>& findings) {
    absl::StatusOr<Connection> connection = Connection::Open(context, {});
    if (!connection.ok()) {
      findings.push_back(Unreachable("coordinator", connection.status(),
                                     "start it with `noisefloor serve`, or name another"));
      return "";
    }
    const absl::Duration begun = context.clock.Steady();
    const auto version = connection->Call(&Stub::GetVersion, v1::GetVersionRequest());
    const absl::Duration took = context.clock.Steady() - begun;
    if (!version.ok()) {
      findings.push_back(
          Unreachable("coordinator", version.status(), HelpFor(version.status(), context)));
      return "";
    }
    findings.push_back(
        {"coordinator", Level::kOk,
         fmt::format("{}{}, data in {}, epoch {}",
                     connection->remote() ? connection->address() : "in this process",
                     connection->secure() ? " with TLS" : "", PrintableLine(version->home()),
                     version->epoch()),
         ""});
    findings.push_back(JudgeClock(
        absl::FromUnixMicros(version->unix_micros()) + took / 2 - context.clock.Now(), took / 2));
    AskOfFleet(*connection, *version, context, findings);
    AskWho(*connection, context, findings);
    const auto storage = connection->Call(&Stub::GetStorage, v1::GetStorageRequest());
    findings.push_back(storage.ok() ? JudgeUse(*storage)
                                    : Unreachable("storage", storage.status(), "look at its log"));
    if (!connection->remote()) findings.push_back(CheckPort(version->home()));
    // Another machine's folder of that name is none of ours.
    return connection->remote() && !IsHere(version->home()) ? "" : version->home();
  }

  // Nobody serves: whether `serve` could.
  static Finding CheckPort(const std::string& home) {
    const absl::StatusOr<KeptAccess> kept = ReadAccess(home);
    const std::string address = kept.ok() ? kept->coordinator : kUsualAddress;
    const absl::StatusOr<Address> parsed = ParseAddress(address);
    if (!parsed.ok()) return Unreachable("port", parsed.status(), "`noisefloor access init` anew");
    return JudgePort(address, FindPortHolder(parsed->port));
  }

  // What workers and crashed programs left here.
  static void LookAtMachine(const Context& context, const std::string& home,
                            std::vector<Finding>& findings) {
    CachePlaces places = FindCachePlaces(context, {}, {});
    findings.push_back(
        JudgeCaches(LookAtCaches(places, context.clock.Now() - kUnusedFor, /*remove=*/false)));
    std::vector<std::string> folders = std::move(places.states);
    folders.push_back(home);
    const CoreRule rule = ReadCoreRule();
    findings.push_back(JudgeCrashes(rule, FindCrashFiles(folders, rule)));
  }

  static bool IsHere(const std::string& home) { return PathExists(home + "/noisefloor.db"); }

  static void AskOfFleet(Connection& connection, const v1::GetVersionResponse& version,
                         const Context& context, std::vector<Finding>& findings) {
    const auto workers = connection.Call(&Stub::ListWorkers, v1::ListWorkersRequest());
    if (!workers.ok()) {
      findings.push_back(Unreachable("workers", workers.status(), "look at its log"));
      return;
    }
    findings.push_back(JudgeVersions(NOISEFLOOR_VERSION, version.version(), *workers));
    findings.push_back(JudgeWorkers(*workers, context.clock.Now()));
    findings.push_back(JudgeDrivers(*workers));
  }

  static void AskWho(Connection& connection, const Context& context,
                     std::vector<Finding>& findings) {
    grpc::ClientContext call;
    connection.Prepare(call, absl::Seconds(10));
    v1::WhoAmIResponse who;
    const auto stub = v1::AccessService::NewStub(connection.channel());
    const absl::Status asked = FromGrpc(stub->WhoAmI(&call, v1::WhoAmIRequest(), &who));
    findings.push_back(asked.ok() ? JudgeToken(who, context.clock.Now())
                                  : Unreachable("access", asked, "name an access file"));
  }

  static void LookAtHome(const Context& context, const std::string& home,
                         std::vector<Finding>& findings) {
    findings.push_back(CheckRoom(home));
    findings.push_back(CheckSync(home));
    findings.push_back(CheckPermissions(home));
    const absl::Status whole = QuickCheck(home);
    findings.push_back(
        whole.ok() ? Finding{"database", Level::kOk, "SQLite finds nothing wrong", ""}
                   : Unreachable("database", whole, "copy the directory, then restore a backup"));
    if (!AccessIsSetUp(home)) return;
    const absl::StatusOr<std::string> pem = ReadFile(ServerPemPath(home), kMostPem);
    const absl::StatusOr<CertificateFacts> facts =
        pem.ok() ? ReadCertificate(*pem) : absl::StatusOr<CertificateFacts>(pem.status());
    findings.push_back(facts.ok() ? JudgeCertificate(facts->expires, context.clock.Now())
                                  : Unreachable("certificate", facts.status(),
                                                "`noisefloor access renew` makes another"));
  }

  Finding CheckData(const Context& context) const {
    std::string there;
    for (const std::string& root : DataRoots(context, data_root_)) {
      for (const DownloadableSet& set : DownloadableSets()) {
        if (!PathExists(root + "/" + set.folder) || !MissingFiles(set, root).empty()) continue;
        there += (there.empty() ? "" : ", ") + set.name;
      }
    }
    if (there.empty()) there = "the bundled sample alone; `noisefloor data get` brings others";
    return {"data", Level::kOk, there, ""};
  }

  static void Say(Context& context, const std::vector<Finding>& findings) {
    if (context.Json()) {
      Json list = Json::array();
      for (const Finding& one : findings) {
        list.push_back({{"check", one.check},
                        {"level", cli::Name(one.level)},
                        {"text", one.text},
                        {"help", one.help}});
      }
      PrintJson(context.out, {{"findings", list}});
      return;
    }
    for (const Finding& one : findings) {
      context.out << fmt::format("{:<8} {}: {}\n", cli::Name(one.level), one.check,
                                 PrintableLine(one.text));
      if (!one.help.empty()) context.out << "         " << PrintableLine(one.help) << "\n";
    }
  }

  std::string data_root_;
};

}  // namespace

std::unique_ptr<Command> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace noisefloor::cli
