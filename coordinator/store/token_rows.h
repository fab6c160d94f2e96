// The tokens that are kept, as the coordinator needs them once, when it starts.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/access/access_list.h"

namespace noisefloor {

// By number, revoked and expired ones too. The store of `home` is of this program's schema. Reads
// on a connection of its own. DataLoss: a row that makes no sense; the message names it.
absl::StatusOr<std::vector<access::TokenRecord>> ReadTokens(const std::string& home);

}  // namespace noisefloor
