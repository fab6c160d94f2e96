#include "worker/daemon/stack_fetch.h"

#include <unistd.h>

#include <utility>

#include "fmt/format.h"

#include "common/base/mailbox.h"
#include "common/log/log.h"
#include "worker/daemon/stack_copy.h"

namespace noisefloor {

namespace {

constexpr size_t kMostNews = 1000;  // One a second; each is taken at once.

absl::StatusOr<FetchNews> Brought(TreeName wanted, const WorkerStub& stub, const TreeCache& cache,
                                  const Clock& clock, uint64_t seed, absl::Duration patience) {
  Mailbox<FetchNews> told(kMostNews);
  TreeFetcher fetcher(
      stub, cache, clock, seed, [&told](FetchNews news) { (void)told.Post(std::move(news)); },
      patience);
  fetcher.Want(wanted);
  absl::Duration say_at = clock.Steady() + kBetweenFetchLines;
  while (true) {
    for (FetchNews& news : told.TakeAll(absl::InfiniteDuration())) {
      if (news.ended) return std::move(news);
      if (clock.Steady() < say_at) continue;
      say_at = clock.Steady() + kBetweenFetchLines;
      LogInfo("stack_comes", {{"stack", wanted.name}, {"here", HowFar(news)}});
    }
  }
}

}  // namespace

absl::StatusOr<SharedTree> FetchStack(const StackWish& wish, const WorkerStub& stub,
                                      const TreeCache& cache, const Clock& clock, uint64_t seed,
                                      absl::Duration patience) {
  LogInfo("fetches_stack", {{"stack", wish.name}, {"into", cache.folder()}});
  NF_ASSIGN_OR_RETURN(const FetchNews news, Brought({TreeName::Kind::kStack, wish.name}, stub,
                                                    cache, clock, seed, patience));
  if (!news.tree.ok()) return Annotate(news.tree.status(), "--fetch-stack=" + wish.name);
  const SharedTree tree = *news.tree;
  if (!IsOurs(tree->path())) return NotOurs(*tree);
  const std::string program = tree->path() + "/" + wish.program;
  if (access(program.c_str(), X_OK) != 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("--fetch-stack={}: that stack has no program {}; expected "
                                 "--fetch-stack={}=PROGRAM",
                                 wish.name, wish.program, wish.name));
  }
  LogInfo("stack_is_here",
          {{"stack", wish.name}, {"bytes", news.bytes}, {"fetched", news.bytes_taken}});
  return tree;
}

}  // namespace noisefloor
