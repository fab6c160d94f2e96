#include "coordinator/store/handover_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "common/files/atomic_file.h"

namespace noisefloor {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kForm = 1;
constexpr uint64_t kMostBytes = 64 << 10;
constexpr std::string_view kTerm = "term-";

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// NotFound, DataLoss, or of the disk.
template <typename Take>
absl::Status ReadJson(const std::string& path, FileSystem& files, const Take& take) {
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes, files));
  try {
    const Json json = Json::parse(text);
    if (json.at("form").get<int>() != kForm) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       path + ": made by a newer noisefloor; go on with that program");
    }
    take(json);
    return absl::OkStatus();
  } catch (const nlohmann::json::exception& error) {
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("{}: cannot be understood: {}", path, error.what()));
  }
}

std::string_view NameOf(HomeStanding standing) {
  switch (standing) {
    case HomeStanding::kTaking: return "taking";
    case HomeStanding::kServing: return "serving";
    case HomeStanding::kEnding: return "ending";
  }
  return "";
}

HomeStanding StandingNamed(const std::string& name) {
  if (name == NameOf(HomeStanding::kServing)) return HomeStanding::kServing;
  // What is not known is not served.
  return name == NameOf(HomeStanding::kTaking) ? HomeStanding::kTaking : HomeStanding::kEnding;
}

std::string MarkPath(const std::string& home) { return fmt::format("{}/{}", home, kHomeMarkName); }

std::optional<uint64_t> NumberOf(std::string_view name) {
  if (!name.starts_with(kTerm)) return std::nullopt;
  name.remove_prefix(kTerm.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

Json ToJson(const Claim& claim) {
  return {{"form", kForm},      {"id", claim.id},
          {"host", claim.host}, {"process", claim.process},
          {"home", claim.home}, {"at_us", absl::ToUnixMicros(claim.at)}};
}

absl::StatusOr<Claim> ReadClaim(const std::string& path, FileSystem& files) {
  Claim claim;
  NF_RETURN_IF_ERROR(ReadJson(path, files, [&](const Json& json) {
    json.at("id").get_to(claim.id);
    json.at("host").get_to(claim.host);
    json.at("process").get_to(claim.process);
    json.at("home").get_to(claim.home);
    claim.at = absl::FromUnixMicros(json.at("at_us").get<int64_t>());
  }));
  return claim;
}

absl::StatusOr<std::optional<TermEnd>> ReadEnd(const std::string& path, FileSystem& files) {
  TermEnd end;
  const absl::Status read = ReadJson(path, files, [&](const Json& json) {
    json.at("step").get_to(end.step);
    json.at("manifest_sha256").get_to(end.manifest_sha256);
    json.at("access").get_to(end.access);
    end.at = absl::FromUnixMicros(json.at("at_us").get<int64_t>());
  });
  if (absl::IsNotFound(read)) return std::nullopt;
  NF_RETURN_IF_ERROR(read);
  return end;
}

}  // namespace

absl::StatusOr<std::optional<HomeMark>> ReadHomeMark(const std::string& home, FileSystem& files) {
  HomeMark mark;
  const absl::Status read = ReadJson(MarkPath(home), files, [&](const Json& json) {
    mark.standing = StandingNamed(json.at("standing").get<std::string>());
    json.at("folder").get_to(mark.folder);
    json.at("term").get_to(mark.term);
    json.at("id").get_to(mark.id);
  });
  if (absl::IsNotFound(read)) return std::nullopt;
  NF_RETURN_IF_ERROR(read);
  return mark;
}

absl::Status WriteHomeMark(const std::string& home, const HomeMark& mark, FileSystem& files) {
  const Json json = {{"form", kForm},
                     {"standing", NameOf(mark.standing)},
                     {"folder", mark.folder},
                     {"term", mark.term},
                     {"id", mark.id}};
  return WriteFileAtomically(MarkPath(home), Dump(json), files);
}

absl::Status CheckHandedOver(const std::string& home, FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::optional<HomeMark> mark, ReadHomeMark(home, files));
  if (!mark || mark->standing == HomeStanding::kServing) return absl::OkStatus();
  if (mark->standing == HomeStanding::kTaking) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{}: its data are being taken over from {} and are not whole yet: "
                                 "`noisefloor serve --home={} --handover={}` goes on with that",
                                 home, mark->folder, home, mark->folder));
  }
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("{}: was handed over in {} (term {}): another coordinator may go on with it. "
                  "`noisefloor serve --home={} --handover={}` goes on here if none has, and else "
                  "says which",
                  home, mark->folder, mark->term, home, mark->folder));
}

std::string ToText(const Claim& claim) {
  return fmt::format("{}, process {}, {}, since {} UTC", claim.host, claim.process, claim.home,
                     absl::FormatTime("%Y-%m-%d %H:%M:%S", claim.at, absl::UTCTimeZone()));
}

std::string HandoverFolder::FolderOf(uint64_t term) const {
  return fmt::format("{}/{}{}", path_, kTerm, term);
}

absl::StatusOr<Term> HandoverFolder::LastTerm() const {
  const auto entries = files_->List(path_);
  if (absl::IsNotFound(entries.status())) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     path_ +
                         ": is not there: make it once, on a file system that every machine "
                         "sees (is that mounted here?)");
  }
  NF_RETURN_IF_ERROR(entries.status());
  Term term;
  for (const FolderEntry& entry : *entries) {
    term.number = std::max(term.number, NumberOf(entry.name).value_or(0));
  }
  if (term.number == 0) return term;
  return TermOf(term.number);
}

absl::StatusOr<Term> HandoverFolder::TermOf(uint64_t number) const {
  Term term = {.number = number, .claim = {}, .end = std::nullopt};
  NF_ASSIGN_OR_RETURN(term.claim, ReadClaim(FolderOf(number) + "/claim.json", *files_));
  NF_ASSIGN_OR_RETURN(term.end, ReadEnd(FolderOf(number) + "/end.json", *files_));
  return term;
}

absl::StatusOr<bool> HandoverFolder::Make(uint64_t number, const Claim& claim) const {
  const std::string aside = fmt::format("{}.{}", FolderOf(number), claim.id);
  NF_RETURN_IF_ERROR(files_->RemoveTree(aside));  // Of the same, when it was killed.
  NF_RETURN_IF_ERROR(files_->MakeFolder(aside).status());
  NF_RETURN_IF_ERROR(WriteFileAtomically(aside + "/claim.json", Dump(ToJson(claim)), *files_));
  // A folder with something in it is never replaced: exactly one of several comes there.
  const absl::Status renamed = files_->Rename(aside, FolderOf(number));
  if (!renamed.ok()) {
    (void)files_->RemoveTree(aside);
    // On a network, what was done may be told as refused: who is there says it.
    const absl::StatusOr<Claim> there = ReadClaim(FolderOf(number) + "/claim.json", *files_);
    if (!there.ok()) return renamed;
    if (there->id != claim.id) return false;
  }
  NF_RETURN_IF_ERROR(files_->SyncFolder(path_));
  return true;
}

absl::Status HandoverFolder::End(uint64_t number, const TermEnd& end) const {
  const Json json = {{"form", kForm},
                     {"step", end.step},
                     {"manifest_sha256", end.manifest_sha256},
                     {"access", end.access},
                     {"at_us", absl::ToUnixMicros(end.at)}};
  return WriteFileAtomically(FolderOf(number) + "/end.json", Dump(json), *files_);
}

absl::Status HandoverFolder::Forget(uint64_t number) const {
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, files_->List(path_));
  for (const FolderEntry& entry : entries) {
    const std::optional<uint64_t> term = NumberOf(entry.name);
    if (!term || *term >= number) continue;
    NF_RETURN_IF_ERROR(files_->RemoveTree(FolderOf(*term)));
  }
  return absl::OkStatus();
}

std::optional<Word> HandoverFolder::Read(uint64_t term, std::string_view name) const {
  Word word;
  const absl::Status read =
      ReadJson(FolderOf(term) + "/" + std::string(name), *files_, [&](const Json& json) {
        json.at("id").get_to(word.id);
        json.at("stage").get_to(word.stage);
        json.at("problem").get_to(word.problem);
        json.at("beat").get_to(word.beat);
      });
  if (!read.ok()) return std::nullopt;
  return word;
}

absl::Status HandoverFolder::Say(uint64_t term, std::string_view name, const Word& word) const {
  const Json json = {{"form", kForm},
                     {"id", word.id},
                     {"stage", word.stage},
                     {"problem", word.problem},
                     {"beat", word.beat}};
  return WriteFileAtomically(FolderOf(term) + "/" + std::string(name), Dump(json), *files_);
}

}  // namespace noisefloor
