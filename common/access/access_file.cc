#include "common/access/access_file.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/private_file.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = 64 << 10;
constexpr std::string_view kCertificate = "-----BEGIN CERTIFICATE-----";

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string> NamesFor(AccessUser user) {
  if (user == AccessUser::kWorker) return {"worker.access"};
  return {"admin.access", "submitter.access", "reader.access"};
}

absl::Status CheckWhole(const AccessFile& file) {
  if (file.coordinator.empty()) return InvalidInput("expected a line `coordinator HOST:PORT`");
  if (file.token.empty()) return InvalidInput("expected a line `token TOKEN`");
  if (file.certificate.empty()) return InvalidInput("expected a certificate after the token");
  return absl::OkStatus();
}

}  // namespace

std::string ToText(const AccessFile& file) {
  return fmt::format("# noisefloor access file: keep it to yourself\ncoordinator {}\ntoken {}\n{}",
                     file.coordinator, file.token, file.certificate);
}

absl::StatusOr<AccessFile> ParseAccessFile(std::string_view text) {
  AccessFile file;
  for (int number = 1; !text.empty(); ++number) {
    if (text.starts_with(kCertificate)) {
      file.certificate = std::string(text);
      break;
    }
    const std::string_view line = TakeLine(text);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("coordinator ")) {
      file.coordinator = std::string(line.substr(12));
    } else if (line.starts_with("token ")) {
      file.token = std::string(line.substr(6));
    } else {
      return InvalidInput(fmt::format(
          "line {}: expected `coordinator HOST:PORT`, `token TOKEN` or a certificate", number));
    }
  }
  NF_RETURN_IF_ERROR(CheckWhole(file));
  return file;
}

absl::StatusOr<AccessFile> ReadAccessFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostBytes);
  if (!text.ok()) return Annotate(text.status(), "access file");
  absl::StatusOr<AccessFile> file = ParseAccessFile(*text);
  if (!file.ok()) return Annotate(file.status(), "access file " + path);
  return file;
}

absl::Status WriteAccessFile(const std::string& path, const AccessFile& file) {
  return WritePrivateFile(path, ToText(file));
}

AccessPlaces AccessPlacesOfThisProcess() {
  AccessPlaces places;
  if (const char* named = std::getenv("NOISEFLOOR_ACCESS")) places.named = named;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') {
    places.usual = std::string(home) + "/.config/noisefloor/access";
  }
  return places;
}

absl::StatusOr<std::string> FindAccessFile(const std::string& named, AccessUser user) {
  std::error_code error;
  if (fs::is_directory(named, error)) {
    const std::vector<std::string> names = NamesFor(user);
    for (const std::string& name : names) {
      std::string path = named + "/" + name;
      if (PathExists(path)) return path;
    }
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("{}: has no {}", named, fmt::join(names, ", no ")));
  }
  if (PathExists(named)) return named;
  return MakeError(absl::StatusCode::kNotFound, fmt::format("{}: no access file there", named));
}

}  // namespace noisefloor
