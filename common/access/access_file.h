// An access file: what a worker or a person needs to reach a coordinator, and nothing else. Three
// things, as text:
//
//   # noisefloor access file: keep it to yourself
//   coordinator box:7077
//   token nfl_alice_...
//   -----BEGIN CERTIFICATE-----
//   ...
//
// $NOISEFLOOR_ACCESS names one, or a folder with one for each kind of program; else it is looked
// for as ~/.config/noisefloor/access, which may be either, too. On a file system that all machines
// share nothing else has to be said to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

struct AccessFile {
  std::string coordinator;  // "box:7077".
  std::string token;
  std::string certificate;  // Of the authority whose certificates are trusted; PEM.
};

// Who looks for a file: of a folder a worker takes `worker.access`, a person `admin.access`, else
// `submitter.access`, else `reader.access`.
enum class AccessUser : uint8_t { kWorker, kPerson };

std::string ToText(const AccessFile& file);
// InvalidArgument says what is missing or not understood; never the token.
absl::StatusOr<AccessFile> ParseAccessFile(std::string_view text);

// The file at `path`; its path is in every error.
absl::StatusOr<AccessFile> ReadAccessFile(const std::string& path);

// Whole or absent, and only its owner can read it. Its folder must be there. Any failure of the
// disk.
absl::Status WriteAccessFile(const std::string& path, const AccessFile& file);

// The environment as far as it says where access files are.
struct AccessPlaces {
  std::string named;  // $NOISEFLOOR_ACCESS; may be empty.
  std::string usual;  // ~/.config/noisefloor/access; empty without a home.
};
AccessPlaces AccessPlacesOfThisProcess();

// The file that `named`, a file or a folder, means for `user`. NotFound says what was looked for.
absl::StatusOr<std::string> FindAccessFile(const std::string& named, AccessUser user);

}  // namespace noisefloor
