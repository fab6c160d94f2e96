// Stacks that the coordinator has (`serve --stack-root`) and this machine has not: they are brought
// before any trainer is asked what it is.
#pragma once

#include "common/base/status.h"
#include "worker/daemon/options.h"
#include "worker/daemon/tree_fetcher.h"

namespace noisefloor {

// Brings it, once for all workers of this machine that share the cache, as TreeFetcher does; tells
// the log how far it is. FailedPrecondition: it has no such program that can be run.
// PermissionDenied: somebody else has put it into the cache.
absl::StatusOr<SharedTree> FetchStack(const StackWish& wish, const WorkerStub& stub,
                                      const TreeCache& cache, const Clock& clock, uint64_t seed,
                                      absl::Duration patience);

}  // namespace noisefloor
