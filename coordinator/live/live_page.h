// The page of a running coordinator: what a browser asks for, and who may. Reads only.
//
//   /            the app, as for every other path that is not below: it draws the view of that path
//   /app.js .css its script and style
//   /api/METHOD  what it reads: see gateway.h
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/http/http_server.h"
#include "coordinator/live/gateway.h"

namespace noisefloor::live {

// Any thread.
class LivePage {
 public:
  struct Parts {
    // shared: see Gateway.
    std::shared_ptr<grpc::Channel> channel;
    // Whether the owner of that token may read. Any thread; never blocks.
    std::function<absl::Status(std::string_view token)> may_read;
    // Whether tokens are those of identities, with which calls are made then; else one opens the
    // page and calls need none.
    bool identities = false;
  };
  explicit LivePage(Parts parts);

  // As http::Handler. A browser signs in with ?token=TOKEN, which becomes a cookie that scripts
  // cannot read; other clients send it as "Authorization: Bearer TOKEN". Without TLS only requests
  // for a host on loopback are answered: a name that somebody has pointed there is none (DNS
  // rebinding).
  void Ask(const http::Request& request, std::function<void(http::Answer answer)> then) const;

 private:
  const Parts parts_;
  const Gateway gateway_;
};

// The token of a page whose coordinator has no identities: that of HOME/page.token, which only the
// owner of the data directory can read, so that a restart signs nobody out. `chance`: a new one
// where there is none, hexadecimal.
absl::StatusOr<std::string> PageToken(const std::string& home, const std::string& chance);

}  // namespace noisefloor::live
