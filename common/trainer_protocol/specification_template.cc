#include "common/trainer_protocol/specification_template.h"

#include <utility>

#include "common/base/check.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/training_json.h"

namespace noisefloor {

namespace {

// How a hole is written before it is cut out: no other source has an empty seed, and in a text a
// quote is never bare.
constexpr std::string_view kHole = R"("lane":0,"seed":"")";

absl::Status NoTemplate(std::string_view what) {
  return MakeError(absl::StatusCode::kDataLoss, "not a specification: " + std::string(what));
}

// In place of what only a member has of a free source, what gives it to its cell's members.
void LeaveOpen(Json& spec, const LaneRule& rule) {
  spec.erase("lane");
  spec.erase("seed");
  if (!rule.levels.empty()) spec["levels"] = rule.levels;
}

}  // namespace

class TemplateMaker {
 public:
  // Of what text() says, parsed. DataLoss for what is none.
  static absl::StatusOr<SpecificationTemplate> From(Json cell, uint64_t sweep_seed);
};

SpecificationTemplate SpecificationTemplate::Of(const Training& member, const LaneRules& rules,
                                                uint64_t sweep_seed) {
  Json cell = TrainingAsJson(member);
  for (const NoiseSource source : kAllNoiseSources) {
    const LaneRule& rule = RuleOf(rules, source);
    if (rule.state == SourceState::kFree) LeaveOpen(cell["noise"][std::string(Name(source))], rule);
  }
  auto made = TemplateMaker::From(std::move(cell), sweep_seed);
  NF_CHECK(made.ok());
  return *std::move(made);
}

SpecificationTemplate SpecificationTemplate::Fixed(const Training& member) {
  auto made = TemplateMaker::From(TrainingAsJson(member), 0);
  NF_CHECK(made.ok());
  return *std::move(made);
}

absl::StatusOr<SpecificationTemplate> SpecificationTemplate::OfText(std::string_view member,
                                                                    uint64_t sweep_seed) {
  absl::StatusOr<Json> parsed = ParseJson(member);
  if (!parsed.ok()) return NoTemplate(Message(parsed.status()));
  if (!parsed->is_object() || !parsed->contains("noise")) return NoTemplate("noise");
  for (auto& [name, spec] : (*parsed)["noise"].items()) {
    if (!spec.is_object() || spec.value("state", "") != Name(SourceState::kFree)) continue;
    LeaveOpen(spec, {});
  }
  return TemplateMaker::From(*std::move(parsed), sweep_seed);
}

absl::StatusOr<SpecificationTemplate> SpecificationTemplate::Parse(std::string_view text,
                                                                   uint64_t sweep_seed) {
  absl::StatusOr<Json> parsed = ParseJson(text);
  if (!parsed.ok()) return NoTemplate(Message(parsed.status()));
  return TemplateMaker::From(*std::move(parsed), sweep_seed);
}

absl::StatusOr<SpecificationTemplate> TemplateMaker::From(Json cell, uint64_t sweep_seed) {
  if (!cell.is_object() || !cell.contains("noise") || !cell["noise"].is_object()) {
    return NoTemplate("an object with \"noise\" was expected");
  }
  SpecificationTemplate made;
  made.sweep_seed_ = sweep_seed;
  Json& noise = cell["noise"];
  for (auto& [name, spec] : noise.items()) {  // In the order in which they are written.
    const auto source = ParseNoiseSource(name);
    if (!source || !spec.is_object() || !spec.contains("state") || !spec.contains("block") ||
        !spec["block"].is_number_unsigned()) {
      return NoTemplate("noise." + name);
    }
    if (spec.contains("lane")) continue;
    LaneRule rule{SourceState::kFree, {}};
    if (spec.contains("levels")) {
      auto levels = LevelsFrom(spec["levels"]);
      if (!levels) return NoTemplate("noise." + name + ".levels");
      rule.levels = *std::move(levels);
    }
    made.holes_.push_back({*source, std::move(rule), spec["block"].get<uint32_t>(), ""});
  }
  made.text_ = cell.dump();
  for (const SpecificationTemplate::Hole& hole : made.holes_) {
    Json& spec = noise[std::string(Name(hole.source))];
    spec.erase("levels");
    spec["lane"] = 0;
    spec["seed"] = "";
  }
  std::string whole = cell.dump();
  for (SpecificationTemplate::Hole& hole : made.holes_) {
    const size_t at = whole.find(kHole);
    if (at == std::string::npos) return NoTemplate("noise");
    hole.before = whole.substr(0, at);
    whole.erase(0, at + kHole.size());
  }
  made.rest_ = std::move(whole);
  return made;
}

std::string SpecificationTemplate::ForReplicate(uint32_t replicate) const {
  std::string member;
  member.reserve(text_.size() + holes_.size() * 48);
  for (const Hole& hole : holes_) {
    const Lane lane = LaneOf(hole.rule, hole.block, replicate);
    member.append(hole.before).append("\"lane\":").append(std::to_string(lane.number));
    member.append(",\"seed\":\"");
    member.append(std::to_string(DeriveSeed(sweep_seed_, hole.source, lane))).append("\"");
  }
  return member.append(rest_);
}

}  // namespace noisefloor
