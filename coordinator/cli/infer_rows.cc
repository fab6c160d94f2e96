#include "coordinator/cli/infer_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/trainer_protocol/json.h"
#include "coordinator/cli/listing.h"

namespace noisefloor::cli {

namespace {

std::string HashOf(const v1::Member& member, const std::string& name) {
  const auto& hashes = member.outcome().hashes();
  const auto found = hashes.find(name);
  return found == hashes.end() ? "" : found->second;
}

// Nan: there is none.
double MetricOf(const v1::Member& member, const std::string& name) {
  const auto& metrics = member.outcome().metrics();
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nan("") : found->second;
}

std::string Number(const v1::Member& member, const std::string& name) {
  return member.outcome().metrics().contains(name) ? NumberToText(MetricOf(member, name)) : "";
}

// As RFC 4180 has it.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Names and values of a row, in the order of the CSV's header.
std::vector<std::pair<std::string, std::string>> FieldsOf(const InferRow& row) {
  const v1::Member& member = row.member;
  const v1::Member& subject = row.subject;
  return {{"member", member.id()},
          {"subject", member.subject()},
          {"weights_file", member.weights_file()},
          {"train_hardware", subject.hardware()},
          {"infer_hardware", member.hardware()},
          {"train_stack", subject.stack()},
          {"infer_stack", member.stack()},
          {"plan", subject.plan()},
          {"block", std::to_string(member.block())},
          {"state", std::string(Name(member.state()))},
          {"same_logits", SameLogits(row)},
          {"top1", Number(member, "top1")},
          {"top5", Number(member, "top5")},
          {"loss", Number(member, "loss")},
          {"train_top1", Number(subject, "top1")},
          {"train_top5", Number(subject, "top5")},
          {"train_loss", Number(subject, "loss")},
          {"weights_sha256", HashOf(member, "weights")},
          {"logits_sha256", HashOf(member, "logits")},
          {"train_logits_sha256", HashOf(subject, "logits")}};
}

}  // namespace

std::string SameLogits(const InferRow& row) {
  const std::string here = HashOf(row.member, "logits");
  const std::string there = HashOf(row.subject, "logits");
  if (here.empty() || there.empty() || !row.member.weights_file().empty()) return "";
  return here == there ? "yes" : "no";
}

absl::StatusOr<std::vector<InferRow>> InferRows(Connection& connection,
                                                const std::vector<v1::Member>& members) {
  std::map<uint64_t, std::set<uint32_t>> cells;  // By sweep: a cell of those that were chosen.
  std::set<std::string> wanted;
  for (const v1::Member& member : members) {
    const auto subject = ParseMemberId(member.subject());
    if (!subject) continue;
    cells[subject->sweep.value].insert(subject->cell);
    wanted.insert(member.subject());
  }
  std::map<std::string, v1::Member> subjects;
  for (const auto& [sweep, chosen] : cells) {
    Listing listing = {.sweep = sweep, .detail = Detail::kHashes};
    listing.selection.mutable_cells()->Assign(chosen.begin(), chosen.end());
    NF_RETURN_IF_ERROR(VisitSelected(connection, listing, [&](v1::Member&& member) {
      if (!wanted.contains(member.id())) return;
      std::string id = member.id();
      subjects[std::move(id)] = std::move(member);
    }));
  }
  std::vector<InferRow> rows;
  for (const v1::Member& member : members) rows.push_back({member, subjects[member.subject()]});
  return rows;
}

std::string InferCsv(const std::vector<InferRow>& rows) {
  std::string text;
  for (const auto& [name, value] : FieldsOf({})) text += (text.empty() ? "" : ",") + name;
  text += "\n";
  for (const InferRow& row : rows) {
    bool first = true;
    for (const auto& [name, value] : FieldsOf(row)) {
      text += (std::exchange(first, false) ? "" : ",") + Field(value);
    }
    text += "\n";
  }
  return text;
}

Json InferJson(const InferRow& row) {
  Json json = Json::object();
  for (const auto& [name, value] : FieldsOf(row)) json[name] = value;
  json["block"] = row.member.block();
  for (const char* name : {"top1", "top5", "loss"}) {
    json[name] = JsonNumber(MetricOf(row.member, name));
    json[std::string("train_") + name] = JsonNumber(MetricOf(row.subject, name));
  }
  return json;
}

std::vector<InferPair> PairClasses(const std::vector<InferRow>& rows) {
  std::map<std::pair<std::string, std::string>, InferPair> pairs;
  for (const InferRow& row : rows) {
    InferPair& pair = pairs[{row.subject.hardware(), row.member.hardware()}];
    pair.train_hardware = row.subject.hardware();
    pair.infer_hardware = row.member.hardware();
    ++pair.members;
    if (HashOf(row.member, "logits").empty()) continue;
    ++pair.done;
    const std::string same = SameLogits(row);
    pair.same += same == "yes" ? 1 : 0;
    pair.different += same == "no" ? 1 : 0;
    const double difference =
        std::abs(MetricOf(row.member, "top1") - MetricOf(row.subject, "top1"));
    if (std::isfinite(difference)) {
      pair.largest_top1_difference = std::max(pair.largest_top1_difference.value_or(0), difference);
    }
  }
  std::vector<InferPair> found;
  for (auto& [classes, pair] : pairs) found.push_back(std::move(pair));
  return found;
}

}  // namespace noisefloor::cli
