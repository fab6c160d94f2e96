#include "coordinator/cli/find_coordinator.h"

#include "coordinator/cli/read_only_home.h"

namespace noisefloor::cli {

absl::StatusOr<std::optional<FoundCoordinator>> FindCoordinator(const Context& context) {
  const GlobalOptions& options = context.options;
  return noisefloor::FindCoordinator(
      {.option = options.coordinator,
       .environment = context.default_coordinator,
       .places = context.access_places,
       .user = AccessUser::kPerson,
       .home_typed = options.home_given,
       .home_there = context.home_is_set || CheckIsHome(options.home).ok()});
}

std::unique_ptr<ChannelAccess> ChannelAccessOf(const std::optional<AccessFile>& file) {
  if (!file) return nullptr;
  auto access = std::make_unique<ChannelAccess>();
  access->certificate = file->certificate;
  access->token = [token = file->token] { return token; };
  return access;
}

}  // namespace noisefloor::cli
