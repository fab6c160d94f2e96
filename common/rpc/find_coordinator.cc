#include "common/rpc/find_coordinator.h"

#include <utility>

#include "common/files/directory.h"
#include "common/rpc/address.h"

namespace noisefloor {

namespace {

absl::StatusOr<FoundCoordinator> InFile(const std::string& place, AccessUser user) {
  FoundCoordinator found;
  NF_ASSIGN_OR_RETURN(found.access_path, FindAccessFile(place, user));
  NF_ASSIGN_OR_RETURN(found.access, ReadAccessFile(found.access_path));
  found.address = found.access->coordinator;
  const absl::Status wrong = ParseAddress(found.address).status();
  if (!wrong.ok()) return Annotate(wrong, "access file " + found.access_path);
  return found;
}

// An address that was said.
absl::StatusOr<FoundCoordinator> At(const std::string& address, std::string_view from,
                                    const CoordinatorNamed& named) {
  const absl::Status wrong = ParseAddress(address).status();
  if (!wrong.ok()) return Annotate(wrong, from);
  for (const std::string& place : {named.places.named, named.places.usual}) {
    if (place.empty()) continue;
    absl::StatusOr<FoundCoordinator> found = InFile(place, named.user);
    if (found.ok() && found->address == address) return found;
  }
  return FoundCoordinator{.address = address, .access_path = "", .access = std::nullopt};
}

}  // namespace

absl::StatusOr<std::optional<FoundCoordinator>> FindCoordinator(const CoordinatorNamed& named) {
  if (!named.option.empty()) return At(named.option, "--coordinator", named);
  if (named.home_typed) return std::nullopt;
  if (!named.environment.empty()) {
    return At(named.environment, "$NOISEFLOOR_COORDINATOR", named);
  }
  const AccessPlaces& places = named.places;
  if (!places.named.empty()) {
    absl::StatusOr<FoundCoordinator> found = InFile(places.named, named.user);
    if (!found.ok()) return Annotate(found.status(), "$NOISEFLOOR_ACCESS");
    return *std::move(found);
  }
  const bool usual = !named.home_there && !places.usual.empty() && PathExists(places.usual);
  if (!usual) return std::nullopt;
  return InFile(places.usual, named.user);
}

}  // namespace noisefloor
