// The service that says who may call, and changes it.
#pragma once

#include <functional>
#include <string>

#include "common/files/sha256.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/unary.h"
#include "noisefloor/v1/access_api.grpc.pb.h"

namespace noisefloor {

// Thread-safe. Borrows what it is given; all of it outlives the server. Changes are kept by the
// loop before they are told, and before they have effect.
class AccessServiceImpl final : public v1::AccessService::CallbackService {
 public:
  struct Parts {
    EventLoop& loop;
    AccessBook& book;
    const Clock& clock;
    std::function<Sha256Digest()> chance;      // 256 bits that nobody can guess. Any thread.
    std::function<std::string()> coordinator;  // Of access files; empty: access is not set up.
    std::string certificate;                   // PEM; the same.
    bool open = false;  // Anybody on this machine can call: tokens are not to be had that way.
  };
  explicit AccessServiceImpl(Parts parts) : parts_(std::move(parts)) {}

  using grpc::Service::GetHandler;  // For its door.
  using Context = grpc::CallbackServerContext;

  Unary* AddToken(Context*, const v1::AddTokenRequest*, v1::AddTokenResponse*) override;
  Unary* ListTokens(Context*, const v1::ListTokensRequest*, v1::ListTokensResponse*) override;
  Unary* RevokeTokens(Context*, const v1::RevokeTokensRequest*, v1::RevokeTokensResponse*) override;
  Unary* WhoAmI(Context*, const v1::WhoAmIRequest*, v1::WhoAmIResponse*) override;

 private:
  absl::Status CheckMayChange() const;

  const Parts parts_;
};

}  // namespace noisefloor
