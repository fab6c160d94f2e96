// GET /metrics, and nothing else.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/http/http_server.h"

namespace noisefloor::metrics {

// `may_read`: whether the owner of that token ("" = none was sent) may; empty: anybody. Both are
// called on the server's thread and never block.
http::Handler MetricsPage(std::function<absl::Status(std::string_view token)> may_read,
                          std::function<std::string()> text);

}  // namespace noisefloor::metrics
