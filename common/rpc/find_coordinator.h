// Which coordinator a program is meant for: the same for workers and for people.
#pragma once

#include <optional>
#include <string>

#include "common/access/access_file.h"
#include "common/base/status.h"

namespace noisefloor {

// A coordinator that listens somewhere.
struct FoundCoordinator {
  std::string address;      // "box:7077"; it can be parsed.
  std::string access_path;  // Of the access file; empty: plain text, no token.
  std::optional<AccessFile> access;
};

// What says which one.
struct CoordinatorNamed {
  std::string option;       // --coordinator, as typed; may be empty.
  std::string environment;  // $NOISEFLOOR_COORDINATOR; may be empty.
  AccessPlaces places;
  AccessUser user = AccessUser::kPerson;
  // What a program has besides: a data directory that was typed counts less than --coordinator
  // alone, one that is there less than all but the usual access file.
  bool home_typed = false;
  bool home_there = false;
};

// Nothing: none is named. The first of these that says: --coordinator, $NOISEFLOOR_COORDINATOR,
// $NOISEFLOOR_ACCESS, the usual access file. An address alone is spoken to with the access file
// that names it, if there is one that can be read: else the server says what it wants.
// InvalidArgument, NotFound: what was named cannot be understood or is not there; the message says
// what named it.
absl::StatusOr<std::optional<FoundCoordinator>> FindCoordinator(const CoordinatorNamed& named);

}  // namespace noisefloor
