#include "coordinator/rpc/access_gate.h"

#include <string>
#include <utility>

#include "fmt/format.h"

#include "common/base/reason.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"

namespace noisefloor {

namespace {

constexpr std::string_view kPath = ":path";
constexpr std::string_view kHealth = "/grpc.health.v1.Health/";
constexpr std::string_view kReflection = "/grpc.reflection.";

class AccessGate final : public grpc::AuthMetadataProcessor {
 public:
  AccessGate(const AccessBook& book, MethodRules rules) : book_(book), rules_(std::move(rules)) {}

  bool IsBlocking() const override { return false; }

  // Nothing is consumed: services ask for the caller's name.
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*,
                       OutputMetadata*) override {
    const std::string_view path = ValueIn(metadata, kPath);
    // Of what has a door, strangers alone are turned away here: no byte of theirs is kept.
    if (rules_.contains(path)) return ToGrpc(book_.Check(TokenIn(metadata)).status());
    return ToGrpc(MayCall(book_, rules_, path, TokenIn(metadata)));
  }

 private:
  const AccessBook& book_;
  const MethodRules rules_;
};

std::string_view MethodName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::Status MayCall(const AccessBook& book, const MethodRules& rules, std::string_view path,
                     std::string_view token) {
  if (path.starts_with(kHealth)) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const access::Caller caller, book.Check(token));
  if (path.starts_with(kReflection)) return absl::OkStatus();
  const auto rule = rules.find(path);
  if (rule == rules.end()) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     fmt::format("no role may call {}", path.substr(0, 200)));
  }
  if (Allows(caller.role, rule->second)) return absl::OkStatus();
  const std::string_view needs = access::Name(rule->second);
  const std::string_view has = access::Name(caller.role);
  return Because(MakeError(absl::StatusCode::kPermissionDenied,
                           fmt::format("{} needs the role {}; {} is a {}", MethodName(path), needs,
                                       caller.identity, has)),
                 Reason::kRoleTooLow, {{"needs", std::string(needs)}, {"has", std::string(has)}});
}

MayEnter MakeMayEnter(const AccessBook& book, MethodRules rules) {
  return [&book, rules = std::move(rules)](const Knock& knock) {
    if (knock.in_process) return absl::OkStatus();
    return MayCall(book, rules, knock.path, knock.token);
  };
}

std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessGate(const AccessBook& book,
                                                            MethodRules rules) {
  return std::make_shared<AccessGate>(book, std::move(rules));
}

}  // namespace noisefloor
