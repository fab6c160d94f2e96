#include "coordinator/metrics/metrics_page.h"

#include <utility>

namespace noisefloor::metrics {

namespace {

constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

http::Handler MetricsPage(std::function<absl::Status(std::string_view token)> may_read,
                          std::function<std::string()> text) {
  return [may_read = std::move(may_read), text = std::move(text)](
             const http::Request& request, const std::function<void(http::Answer)>& then) {
    if (request.path != "/metrics") return then({.status = 404, .body = "figures: /metrics\n"});
    const absl::Status allowed = may_read ? may_read(request.BearerToken()) : absl::OkStatus();
    if (allowed.ok()) return then({.type = kType, .body = text()});
    then({.status = absl::IsUnauthenticated(allowed) ? 401 : 403, .body = Message(allowed) + "\n"});
  };
}

}  // namespace noisefloor::metrics
