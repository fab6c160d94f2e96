#include "coordinator/store/backup_manifest.h"

#include <fmt/format.h>

#include "nlohmann/json.hpp"

#include "common/base/sha256_text.h"
#include "common/files/atomic_file.h"

namespace noisefloor {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kForm = 1;
constexpr uint64_t kMostBytes = 256 << 20;

absl::Status Unreadable(const std::string& path, std::string_view why) {
  return MakeError(
      absl::StatusCode::kDataLoss,
      fmt::format("{}: no manifest of a backup: {}; the backup is damaged", path, why));
}

BackupManifest FromJson(const Json& json) {
  BackupManifest manifest;
  json.at("database").get_to(manifest.database);
  json.at("database_bytes").get_to(manifest.database_bytes);
  json.at("database_sha256").get_to(manifest.database_sha256);
  json.at("version").get_to(manifest.version);
  json.at("schema").get_to(manifest.schema);
  json.at("epoch").get_to(manifest.epoch);
  manifest.made = absl::FromUnixMicros(json.at("made_us").get<int64_t>());
  json.at("sweeps").get_to(manifest.sweeps);
  json.at("events").get_to(manifest.events);
  json.at("blobs").get_to(manifest.blobs);
  json.at("blob_bytes").get_to(manifest.blob_bytes);
  json.at("blobs_sha256").get_to(manifest.blobs_sha256);
  for (const Json& one : json.at("missing")) {
    manifest.missing.push_back({one.at("sha256"), one.at("reason"), one.at("of_result")});
  }
  return manifest;
}

}  // namespace

std::string ManifestToJson(const BackupManifest& manifest) {
  Json json = {{"form", kForm},
               {"database", manifest.database},
               {"database_bytes", manifest.database_bytes},
               {"database_sha256", manifest.database_sha256},
               {"version", manifest.version},
               {"schema", manifest.schema},
               {"epoch", manifest.epoch},
               {"made_us", absl::ToUnixMicros(manifest.made)},
               {"sweeps", manifest.sweeps},
               {"events", manifest.events},
               {"blobs", manifest.blobs},
               {"blob_bytes", manifest.blob_bytes},
               {"blobs_sha256", manifest.blobs_sha256},
               {"missing", Json::array()}};
  for (const MissingBlob& one : manifest.missing) {
    json["missing"].push_back(
        {{"sha256", one.sha256}, {"reason", one.reason}, {"of_result", one.of_result}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<BackupManifest> ReadManifest(const std::string& folder, FileSystem& files) {
  const std::string path = fmt::format("{}/{}", folder, kManifestName);
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes, files));
  try {
    const Json json = Json::parse(text);
    if (json.at("form").get<int>() != kForm) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       path + ": made by a newer noisefloor; restore with that program");
    }
    BackupManifest manifest = FromJson(json);
    const bool plain = manifest.database.find('/') == std::string::npos;
    if (!plain || manifest.database.empty() || !IsSha256(manifest.database_sha256)) {
      return Unreadable(path, "it names no database");
    }
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return Unreadable(path, error.what());
  }
}

}  // namespace noisefloor
