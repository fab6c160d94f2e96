#include "coordinator/cli/find_coordinator.h"

#include "common/files/directory.h"
#include "common/rpc/address.h"
#include "coordinator/cli/read_only_home.h"

namespace noisefloor::cli {

namespace {

absl::StatusOr<AccessFile> ReadNamed(const std::string& named) {
  NF_ASSIGN_OR_RETURN(const std::string path, FindAccessFile(named, AccessUser::kPerson));
  return ReadAccessFile(path);
}

// The access file that is for this address; nothing when there is none, or none that can be read:
// then the server says what it wants.
std::optional<AccessFile> AccessFor(const Context& context, const std::string& address) {
  for (const std::string& place : {context.access_places.named, context.access_places.usual}) {
    if (place.empty()) continue;
    const absl::StatusOr<AccessFile> file = ReadNamed(place);
    if (file.ok() && file->coordinator == address) return *file;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<FoundCoordinator>> InFile(const std::string& named) {
  NF_ASSIGN_OR_RETURN(AccessFile file, ReadNamed(named));
  std::string address = file.coordinator;
  return FoundCoordinator{std::move(address), std::move(file)};
}

}  // namespace

absl::StatusOr<std::optional<FoundCoordinator>> FindCoordinator(const Context& context) {
  const GlobalOptions& options = context.options;
  const AccessPlaces& places = context.access_places;
  if (!options.coordinator.empty()) {
    return FoundCoordinator{options.coordinator, AccessFor(context, options.coordinator)};
  }
  if (options.home_given) return std::nullopt;
  if (const std::string& address = context.default_coordinator; !address.empty()) {
    const absl::Status wrong = ParseAddress(address).status();
    if (!wrong.ok()) return Annotate(wrong, "$NOISEFLOOR_COORDINATOR");
    return FoundCoordinator{address, AccessFor(context, address)};
  }
  if (!places.named.empty()) {
    auto found = InFile(places.named);
    if (!found.ok()) return Annotate(found.status(), "$NOISEFLOOR_ACCESS");
    return found;
  }
  const bool here = context.home_is_set || CheckIsHome(options.home).ok();
  if (here || places.usual.empty() || !PathExists(places.usual)) return std::nullopt;
  return InFile(places.usual);
}

std::unique_ptr<ChannelAccess> ChannelAccessOf(const std::optional<AccessFile>& file) {
  if (!file) return nullptr;
  auto access = std::make_unique<ChannelAccess>();
  access->certificate = file->certificate;
  access->token = [token = file->token] { return token; };
  return access;
}

}  // namespace noisefloor::cli
