#include <array>
#include <filesystem>

#include "fmt/format.h"

#include "common/access/access_file.h"
#include "common/files/directory.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"
#include "noisefloor/v1/access_api.grpc.pb.h"

namespace noisefloor::cli {

namespace {

using AccessStub = v1::AccessService::StubInterface;

struct RoleName {
  std::string_view name;
  v1::Role role;
  std::string_view may;
};
constexpr std::array<RoleName, 4> kRoles = {{
    {"reader", v1::ROLE_READER, "reads everything"},
    {"submitter", v1::ROLE_SUBMITTER, "reads, submits and changes sweeps"},
    {"worker", v1::ROLE_WORKER, "trains"},
    {"admin", v1::ROLE_ADMIN, "everything but training"},
}};
// Whose access files `init` writes.
constexpr std::array<std::string_view, 3> kFirst = {"admin", "submitter", "worker"};

std::vector<std::string> RoleNames() {
  std::vector<std::string> names;
  for (const RoleName& role : kRoles) names.emplace_back(role.name);
  return names;
}

const RoleName& RoleNamed(std::string_view name) {
  for (const RoleName& role : kRoles) {
    if (role.name == name) return role;
  }
  return kRoles[0];  // OneOf has refused all others.
}

std::string NameOf(v1::Role role) {
  for (const RoleName& known : kRoles) {
    if (known.role == role) return std::string(known.name);
  }
  return "unknown";
}

// A day, UTC.
std::string DayText(int64_t unix_seconds) {
  return unix_seconds == 0 ? "-" : TimeText(unix_seconds).substr(0, 10);
}

Json ToJson(const v1::TokenSummary& token) {
  return {{"token", token.number()},
          {"identity", token.identity()},
          {"role", NameOf(token.role())},
          {"created_unix_seconds", token.created_unix_seconds()},
          {"expires_unix_seconds", token.expires_unix_seconds()},
          {"revoked_unix_seconds", token.revoked_unix_seconds()},
          {"created_by", token.created_by()},
          {"active", token.active()}};
}

std::string TokenStateText(const v1::TokenSummary& token) {
  if (token.revoked_unix_seconds() != 0) {
    return "revoked on " + DayText(token.revoked_unix_seconds());
  }
  return token.active() ? "active" : "expired";
}

class Access final : public Command {
 public:
  std::string_view Name() const override { return "access"; }
  std::string_view Help() const override {
    return "Set up TLS and tokens, and say who may do what";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor access init --address=box:7077   # then: noisefloor serve
  noisefloor access add alice --role=submitter --to=alice.access
  noisefloor access add worker --to=worker.access   # a second token, to take the first one's place
  noisefloor access list
  noisefloor access revoke alice
  noisefloor access renew --name=box.example.org
  noisefloor access whoami)";
  }
  void Describe(CLI::App& app) override {
    app.require_subcommand(1);
    DescribeInit(app);
    DescribeRenew(app);
    add_ = app.add_subcommand("add", "Make a token for somebody; it is shown once");
    add_->add_option("identity", identity_, "whose it is")->required()->type_name("NAME");
    add_->add_option("--role", role_, "what it opens (default: as the identity's other token)")
        ->type_name("ROLE")
        ->check(OneOf(RoleNames()));
    add_->add_option("--days", days_, "how long (default 365)")
        ->type_name("N")
        ->check(CLI::Range(1, 3650));
    add_->add_option("--to", to_, "write an access file there instead of showing the token")
        ->type_name("FILE");
    list_ = app.add_subcommand("list", "Show the tokens, though not what they are made of");
    list_->add_flag("--all", all_, "also those that are revoked or have expired");
    revoke_ = app.add_subcommand("revoke", "End tokens at once, and the streams opened with them");
    revoke_->add_option("identity", identity_, "whose they are")->required()->type_name("NAME");
    revoke_->add_option("--token", number_, "only the one of this number")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 62));
    whoami_ = app.add_subcommand("whoami", "Whom the coordinator takes you for");
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (*init_) return Init(context);
    if (*renew_) return Renew(context);
    const bool changes = *add_ || *revoke_;
    NF_ASSIGN_OR_RETURN(
        Connection connection,
        Connection::Open(context, {.home = changes ? Connection::Home::kToChange
                                                   : Connection::Home::kMustExist}));
    if (*add_) return Add(context, connection);
    if (*list_) return List(context, connection);
    if (*revoke_) return Revoke(context, connection);
    return WhoAmI(context, connection);
  }

 private:
  void DescribeInit(CLI::App& app) {
    init_ = app.add_subcommand(
        "init", "Make a certificate, tokens and access files for the coordinator of --home");
    init_
        ->add_option("dir", folder_,
                     "folder of the access files (default: ~/.config/noisefloor/access)")
        ->type_name("DIR");
    init_->add_option("--address", address_, "where workers and people will find the coordinator")
        ->required()
        ->type_name("HOST:PORT");
    AddNames(*init_);
  }
  void DescribeRenew(CLI::App& app) {
    renew_ = app.add_subcommand(
        "renew", "Make a new certificate for the coordinator of --home, also while it serves");
    AddNames(*renew_);
  }
  void AddNames(CLI::App& app) {
    app.add_option("--name", names_,
                   "another host name or address that it is reached by; may be repeated")
        ->type_name("HOST")
        ->allow_extra_args(false);
  }

  // As programs find it that are started in other folders.
  static std::string FromAnywhere(const std::string& folder) {
    std::error_code error;
    const std::string path = std::filesystem::absolute(folder, error).lexically_normal().string();
    return path.size() > 1 && path.ends_with("/") ? path.substr(0, path.size() - 1) : path;
  }

  absl::StatusOr<std::string> FolderOfFiles(const Context& context) const {
    if (folder_.empty() && context.access_places.usual.empty()) {
      return InvalidInput("$HOME is not set; name a folder: access init DIR");
    }
    const std::string folder =
        folder_.empty() ? context.access_places.usual : FromAnywhere(folder_);
    for (const std::string_view name : kFirst) {
      const std::string path = fmt::format("{}/{}.access", folder, name);
      if (!PathExists(path)) continue;
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       fmt::format("{} is there already: remove it, or name another folder: "
                                   "access init DIR",
                                   path));
    }
    NF_RETURN_IF_ERROR(CreateDirectories(folder));
    return folder;
  }

  // What an attempt before this one has left is of no use to anybody.
  static absl::StatusOr<std::vector<v1::AddTokenResponse>> MakeTokens(
      const Connection& connection) {
    NF_ASSIGN_OR_RETURN(
        const v1::ListTokensResponse there,
        connection.Ask<v1::AccessService>(&AccessStub::ListTokens, v1::ListTokensRequest()));
    std::vector<v1::AddTokenResponse> made;
    for (const std::string_view name : kFirst) {
      v1::RevokeTokensRequest revoke;
      revoke.set_identity(std::string(name));
      bool left = false;
      for (const v1::TokenSummary& token : there.tokens()) left |= token.identity() == name;
      if (left)
        NF_RETURN_IF_ERROR(
            connection.Ask<v1::AccessService>(&AccessStub::RevokeTokens, revoke).status());
      v1::AddTokenRequest add;
      add.set_identity(std::string(name));
      add.set_role(RoleNamed(name).role);
      NF_ASSIGN_OR_RETURN(v1::AddTokenResponse answer,
                          connection.Ask<v1::AccessService>(&AccessStub::AddToken, add));
      made.push_back(std::move(answer));
    }
    return made;
  }

  absl::StatusOr<int> Init(Context& context) const {
    const std::string& home = context.options.home;
    if (!context.options.coordinator.empty()) {
      return InvalidInput(
          "--coordinator: access is set up where the data directory is; use --home");
    }
    if (AccessIsSetUp(home)) {  // It says what to do instead.
      return SetUpAccess(home, address_, names_, context.clock.Now());
    }
    NF_RETURN_IF_ERROR(ParseAddress(address_).status());
    NF_ASSIGN_OR_RETURN(const std::string folder, FolderOfFiles(context));
    NF_ASSIGN_OR_RETURN(const Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kMake, .here = true}));
    NF_ASSIGN_OR_RETURN(const std::vector<v1::AddTokenResponse> tokens, MakeTokens(connection));
    NF_RETURN_IF_ERROR(SetUpAccess(home, address_, names_, context.clock.Now()));
    const absl::Status written = WriteFiles(home, folder, tokens);
    if (!written.ok()) {
      (void)RemoveTree(home + "/access");  // As if nothing had been done.
      return written;
    }
    PrintInit(context, folder, tokens);
    return kDone;
  }

  static absl::Status WriteFiles(const std::string& home, const std::string& folder,
                                 const std::vector<v1::AddTokenResponse>& tokens) {
    NF_ASSIGN_OR_RETURN(const KeptAccess kept, ReadAccess(home));
    for (const v1::AddTokenResponse& made : tokens) {
      NF_RETURN_IF_ERROR(
          WriteAccessFile(fmt::format("{}/{}.access", folder, made.summary().identity()),
                          {kept.coordinator, made.token(), kept.certificate}));
    }
    return absl::OkStatus();
  }

  void PrintInit(Context& context, const std::string& folder,
                 const std::vector<v1::AddTokenResponse>& tokens) const {
    Json files = Json::array();
    Table table({"access file", "for", "until (UTC)"});
    for (const v1::AddTokenResponse& made : tokens) {
      const v1::TokenSummary& token = made.summary();
      const std::string path = fmt::format("{}/{}.access", folder, token.identity());
      files.push_back({{"file", path}, {"role", NameOf(token.role())}});
      table.Add({path, fmt::format("{}: {}", NameOf(token.role()), RoleNamed(token.identity()).may),
                 DayText(token.expires_unix_seconds())});
    }
    if (context.Json()) {
      return PrintJson(context.out, {{"coordinator", address_}, {"files", files}});
    }
    table.Print(context);
    const bool usual = folder == context.access_places.usual;
    context.out << fmt::format("{} listens on {} with TLS and tokens\n", context.Hint("serve"),
                               address_);
    context.out << (usual ? "workers and commands that see this folder find it by themselves\n"
                          : fmt::format("workers and commands find it with NOISEFLOOR_ACCESS={}\n",
                                        folder));
  }

  absl::StatusOr<int> Renew(Context& context) const {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: a certificate is made where its key is; use --home");
    }
    NF_ASSIGN_OR_RETURN(const CertificateFacts facts,
                        RenewServerCertificate(context.options.home, names_, context.clock.Now()));
    const std::string day = DayText(absl::ToUnixSeconds(facts.expires));
    if (context.Json()) {
      PrintJson(context.out, {{"names", facts.names}, {"expires", day}});
      return kDone;
    }
    context.out << fmt::format(
        "a new certificate for {} until {}; a coordinator that serves takes "
        "it for new connections\n",
        JoinAll(facts.names), day);
    return kDone;
  }

  static std::string JoinAll(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  absl::StatusOr<int> Add(Context& context, const Connection& connection) const {
    v1::AddTokenRequest request;
    request.set_identity(identity_);
    if (!role_.empty()) request.set_role(RoleNamed(role_).role);
    request.set_days(days_);
    NF_ASSIGN_OR_RETURN(const v1::AddTokenResponse made,
                        connection.Ask<v1::AccessService>(&AccessStub::AddToken, request));
    if (!to_.empty()) NF_RETURN_IF_ERROR(WriteTo(made));
    const v1::TokenSummary& token = made.summary();
    if (context.Json()) {
      Json fields = ToJson(token);
      if (to_.empty()) fields["secret"] = made.token();
      PrintJson(context.out, fields);
      return kDone;
    }
    context.out << fmt::format("token {} of {}, {}, until {}", token.number(), token.identity(),
                               NameOf(token.role()), DayText(token.expires_unix_seconds()));
    context.out << (to_.empty() ? fmt::format("; it is not shown again:\n{}\n", made.token())
                                : fmt::format(", in {}\n", to_));
    return kDone;
  }

  absl::Status WriteTo(const v1::AddTokenResponse& made) const {
    absl::Status written =
        made.certificate().empty()
            ? MakeError(absl::StatusCode::kFailedPrecondition,
                        "access is not set up, so there is nothing to write but the token: "
                        "`noisefloor access init` first")
            : WriteAccessFile(to_, {made.coordinator(), made.token(), made.certificate()});
    return Annotate(written,
                    fmt::format("token {} was made and is lost; `noisefloor access revoke "
                                "{} --token={}` ends it",
                                made.summary().number(), identity_, made.summary().number()));
  }

  absl::StatusOr<int> List(Context& context, const Connection& connection) const {
    v1::ListTokensRequest request;
    request.set_all(all_);
    NF_ASSIGN_OR_RETURN(const v1::ListTokensResponse answer,
                        connection.Ask<v1::AccessService>(&AccessStub::ListTokens, request));
    if (context.Json()) {
      Json tokens = Json::array();
      for (const v1::TokenSummary& token : answer.tokens()) tokens.push_back(ToJson(token));
      PrintJson(context.out, {{"tokens", tokens}});
      return kDone;
    }
    Table table({"token", "identity", "role", "made on", "by", "until (UTC)", "state"});
    for (const v1::TokenSummary& token : answer.tokens()) {
      table.Add({std::to_string(token.number()), token.identity(), NameOf(token.role()),
                 DayText(token.created_unix_seconds()),
                 token.created_by().empty() ? "-" : token.created_by(),
                 DayText(token.expires_unix_seconds()), TokenStateText(token)});
    }
    if (table.empty()) {
      context.out << "there is no token\n";
    } else {
      table.Print(context);
    }
    return kDone;
  }

  absl::StatusOr<int> Revoke(Context& context, const Connection& connection) const {
    v1::RevokeTokensRequest request;
    request.set_identity(identity_);
    request.set_number(number_);
    NF_ASSIGN_OR_RETURN(const v1::RevokeTokensResponse answer,
                        connection.Ask<v1::AccessService>(&AccessStub::RevokeTokens, request));
    if (context.Json()) {
      PrintJson(context.out, {{"identity", identity_}, {"tokens", answer.tokens()}});
    } else {
      context.out << fmt::format("{}: {} revoked\n", identity_, Counted(answer.tokens(), "token"));
    }
    return kDone;
  }

  static absl::StatusOr<int> WhoAmI(Context& context, const Connection& connection) {
    NF_ASSIGN_OR_RETURN(
        const v1::WhoAmIResponse answer,
        connection.Ask<v1::AccessService>(&AccessStub::WhoAmI, v1::WhoAmIRequest()));
    if (context.Json()) {
      PrintJson(context.out, {{"identity", answer.identity()},
                              {"role", NameOf(answer.role())},
                              {"proved", answer.proved()},
                              {"expires_unix_seconds", answer.expires_unix_seconds()}});
      return kDone;
    }
    const std::string name = answer.identity().empty() ? "nobody" : answer.identity();
    context.out << (answer.proved()
                        ? fmt::format("{}, {}\n", name, NameOf(answer.role()))
                        : fmt::format("{}, as you say: no token is asked for here\n", name));
    return kDone;
  }

  CLI::App* init_ = nullptr;
  CLI::App* renew_ = nullptr;
  CLI::App* add_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* revoke_ = nullptr;
  CLI::App* whoami_ = nullptr;
  std::string folder_;
  std::string address_;
  std::vector<std::string> names_;
  std::string identity_;
  std::string role_;
  std::string to_;
  uint32_t days_ = 0;
  uint64_t number_ = 0;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeAccess() { return std::make_unique<Access>(); }

}  // namespace noisefloor::cli
