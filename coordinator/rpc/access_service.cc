#include "coordinator/rpc/access_service.h"

#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/rpc/status.h"
#include "coordinator/access/token.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"

namespace noisefloor {

namespace {

v1::TokenSummary ToProto(const access::TokenRecord& record, absl::Time now) {
  v1::TokenSummary summary;
  summary.set_number(record.number);
  summary.set_identity(record.identity);
  summary.set_role(static_cast<v1::Role>(record.role));
  summary.set_created_unix_seconds(absl::ToUnixSeconds(record.created));
  summary.set_expires_unix_seconds(absl::ToUnixSeconds(record.expires));
  if (record.revoked) summary.set_revoked_unix_seconds(absl::ToUnixSeconds(*record.revoked));
  summary.set_created_by(record.created_by);
  summary.set_active(record.IsActive(now));
  return summary;
}

absl::StatusOr<access::NewToken> WishFrom(const v1::AddTokenRequest& request) {
  access::NewToken wish;
  wish.identity = request.identity();
  if (request.role() != v1::ROLE_UNSPECIFIED) {
    wish.role = access::RoleFrom(static_cast<uint32_t>(request.role()));
    if (!wish.role) return InvalidInput("role: expected reader, submitter, worker or admin");
  }
  if (request.days() != 0) wish.life = absl::Hours(24) * static_cast<int64_t>(request.days());
  return wish;
}

}  // namespace

absl::Status AccessServiceImpl::CheckMayChange() const {
  if (!parts_.open) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      "this coordinator serves without TLS and tokens, so anybody on its machine could "
      "make one: stop it, `noisefloor access init`, and start it again");
}

Unary* AccessServiceImpl::AddToken(Context* context, const v1::AddTokenRequest* request,
                                   v1::AddTokenResponse* response) {
  Unary* reactor = context->DefaultReactor();
  if (const absl::Status may = CheckMayChange(); !may.ok()) return FinishWith(reactor, may);
  absl::StatusOr<access::NewToken> wish = WishFrom(*request);
  if (!wish.ok()) return FinishWith(reactor, wish.status());
  const std::string token = access::MakeToken(wish->identity, parts_.chance());
  wish->sha256 = access::HashOf(token);
  wish->by = CallerOf(*context);
  const absl::StatusOr<access::TokenRecord> record = parts_.book.Reserve(*wish);
  if (!record.ok()) return FinishWith(reactor, record.status());
  parts_.loop.Call(
      scheduler::TokenAdded{0, *record, wish->by},
      [this, reactor, response, record = *record, token,
       coordinator = parts_.coordinator()](const CallResult& result) {
        if (!result.status.ok()) {
          parts_.book.Drop(record.number);
          return reactor->Finish(ToGrpc(result.status));
        }
        parts_.book.Keep(record);
        response->set_token(token);
        *response->mutable_summary() = ToProto(record, record.created);
        response->set_coordinator(coordinator);
        response->set_certificate(parts_.certificate);
        reactor->Finish(grpc::Status::OK);
      },
      WhileAwaited(*context));
  return reactor;
}

Unary* AccessServiceImpl::ListTokens(Context* context, const v1::ListTokensRequest* request,
                                     v1::ListTokensResponse* response) {
  const absl::Time now = parts_.clock.Now();
  for (const access::TokenRecord& record : parts_.book.Records()) {
    if (request->all() || record.IsActive(now)) *response->add_tokens() = ToProto(record, now);
  }
  return FinishWith(context->DefaultReactor(), absl::OkStatus());
}

Unary* AccessServiceImpl::RevokeTokens(Context* context, const v1::RevokeTokensRequest* request,
                                       v1::RevokeTokensResponse* response) {
  Unary* reactor = context->DefaultReactor();
  if (const absl::Status may = CheckMayChange(); !may.ok()) return FinishWith(reactor, may);
  absl::StatusOr<std::vector<uint64_t>> numbers =
      parts_.book.ToRevoke(request->identity(), request->number());
  if (!numbers.ok()) return FinishWith(reactor, numbers.status());
  const scheduler::TokensRevoked event{0, request->identity(), *numbers, CallerOf(*context)};
  parts_.loop.Call(
      event,
      [this, reactor, response, numbers = *numbers](const CallResult& result) {
        if (result.status.ok()) {
          parts_.book.Revoke(numbers);
          response->set_tokens(result.members);
        }
        reactor->Finish(ToGrpc(result.status));
      },
      WhileAwaited(*context));
  return reactor;
}

Unary* AccessServiceImpl::WhoAmI(Context* context, const v1::WhoAmIRequest*,
                                 v1::WhoAmIResponse* response) {
  response->set_identity(CallerOf(*context));
  response->set_role(v1::ROLE_ADMIN);
  const std::string_view token = TokenOf(*context);
  if (parts_.book.Asks(token)) {
    const absl::StatusOr<access::Caller> caller = parts_.book.Check(token);
    if (!caller.ok()) return FinishWith(context->DefaultReactor(), caller.status());
    response->set_role(static_cast<v1::Role>(caller->role));
    response->set_proved(true);
    response->set_expires_unix_seconds(absl::ToUnixSeconds(caller->expires));
  }
  return FinishWith(context->DefaultReactor(), absl::OkStatus());
}

}  // namespace noisefloor
