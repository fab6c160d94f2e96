#include "worker/trainer/checkpoint/manifest.h"

#include <fmt/format.h>

#include <limits>

#include "common/base/sha256_text.h"
#include "common/files/sha256.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kMostSteps = int64_t{1} << 40;
constexpr int64_t kMostFileBytes = int64_t{1} << 50;
constexpr size_t kMostNameBytes = 200;

// A name of its own in a folder: leads nowhere else.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Json SumToJson(const std::string& sha256, uint64_t size_bytes) {
  return {{"sha256", sha256}, {"size", size_bytes}};
}

FileSum ReadSum(JsonReader& reader) {
  FileSum sum;
  sum.sha256 = reader.Text("sha256", 64);
  sum.size_bytes = static_cast<uint64_t>(reader.Int("size", 0, kMostFileBytes));
  if (!IsSha256(sum.sha256)) reader.Fail("sha256", "64 hexadecimal digits");
  return sum;
}

absl::Status ReadFiles(const Json& json, std::map<std::string, FileSum>& files) {
  if (!json.is_object()) return InvalidInput("files: expected an object");
  for (const auto& [name, value] : json.items()) {
    JsonReader reader(value, "files." + name);
    files[name] = ReadSum(reader);
    NF_RETURN_IF_ERROR(reader.Finish());
  }
  return absl::OkStatus();
}

absl::Status ReadKept(const Json& json, std::vector<KeptFile>& kept) {
  if (!json.is_array()) return InvalidInput("kept: expected a list");
  for (const Json& value : json) {
    JsonReader reader(value, "kept");
    const std::string name = reader.Text("name", kMostNameBytes);
    if (!IsPlainName(name)) reader.Fail("name", "a name without a folder");
    const FileSum sum = ReadSum(reader);
    NF_RETURN_IF_ERROR(reader.Finish());
    kept.push_back({name, sum.sha256, sum.size_bytes});
  }
  return absl::OkStatus();
}

absl::Status CheckIdentity(const Json& json, const CheckpointIdentity& mine,
                           CheckpointIdentity& read) {
  if (!json.is_object()) return InvalidInput("identity: expected an object");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return InvalidInput("identity." + name + ": expected a text");
    read[name] = value.get<std::string>();
  }
  std::string others;
  for (const auto& [name, wanted] : mine) {
    const auto it = read.find(name);
    if (it == read.end()) return InvalidInput("identity." + name + ": missing");
    if (it->second == wanted) continue;
    others += fmt::format("{} of another {}: '{}', not '{}'", others.empty() ? "it is" : ",", name,
                          it->second, wanted);
  }
  if (!others.empty()) return InvalidInput(others);
  if (read.size() == mine.size()) return absl::OkStatus();
  return InvalidInput("identity: it has more than this program knows");
}

}  // namespace

std::string ManifestToJson(const Manifest& manifest) {
  Json files = Json::object();
  for (const auto& [name, sum] : manifest.files) {
    files[name] = SumToJson(sum.sha256, sum.size_bytes);
  }
  Json kept = Json::array();
  for (const KeptFile& file : manifest.kept) {
    Json entry = SumToJson(file.sha256, file.size_bytes);
    entry["name"] = file.name;
    kept.push_back(std::move(entry));
  }
  const Json inner = {{"format", kCheckpointFormat}, {"identity", manifest.identity},
                      {"step", manifest.step},       {"facts", manifest.facts},
                      {"files", std::move(files)},   {"kept", std::move(kept)}};
  return Json{{"manifest", inner}, {"sha256", Sha256Hex(inner.dump())}}.dump() + "\n";
}

absl::StatusOr<Manifest> ManifestFromJson(std::string_view text, const CheckpointIdentity& mine) {
  NF_ASSIGN_OR_RETURN(const Json outer, ParseJson(text));
  JsonReader whole(outer, "manifest file");
  const std::string sum = whole.Text("sha256", 64);
  const Json& inner = whole.Any("manifest");
  NF_RETURN_IF_ERROR(whole.Finish());
  if (sum != Sha256Hex(inner.dump())) return InvalidInput("it is not what was written");
  const auto found = inner.find("format");
  const int64_t format =
      found != inner.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  if (format != kCheckpointFormat) {
    return InvalidInput(fmt::format("its format is {}{}; this program reads {}", format,
                                    format > kCheckpointFormat ? ", of a newer program" : "",
                                    kCheckpointFormat));
  }
  Manifest manifest;
  JsonReader reader(inner, "manifest");
  reader.Version("format", kCheckpointFormat);
  manifest.step = reader.Int("step", 0, kMostSteps);
  manifest.facts = reader.Any("facts");
  const Json& identity = reader.Any("identity");
  const Json& files = reader.Any("files");
  const Json& kept = reader.Any("kept");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(CheckIdentity(identity, mine, manifest.identity));
  NF_RETURN_IF_ERROR(ReadFiles(files, manifest.files));
  NF_RETURN_IF_ERROR(ReadKept(kept, manifest.kept));
  return manifest;
}

}  // namespace noisefloor::trainer
