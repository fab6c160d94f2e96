// What the specifications of a cell's members share, and from it the text of each: a member differs
// from the others of its cell in the lanes and seeds of its free sources and in nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/noise_source.h"
#include "common/base/seed.h"
#include "common/base/status.h"
#include "common/trainer_protocol/training.h"

namespace noisefloor {

// Immutable; any thread.
class SpecificationTemplate {
 public:
  // Of the cell of any of its members. `rules`: what gives them their lanes; `sweep_seed`: what
  // DeriveSeed is given.
  static SpecificationTemplate Of(const Training& member, const LaneRules& rules,
                                  uint64_t sweep_seed);
  // Of a cell whose members are all the same training, that of `member`: a replay's.
  static SpecificationTemplate Fixed(const Training& member);
  // Of a member's canonical text, as Of where no rule has levels. DataLoss for what is none.
  static absl::StatusOr<SpecificationTemplate> OfText(std::string_view member, uint64_t sweep_seed);
  // Of text(). DataLoss for what is none.
  static absl::StatusOr<SpecificationTemplate> Parse(std::string_view text, uint64_t sweep_seed);

  // Canonical JSON in which the sources in which members differ have neither "lane" nor "seed";
  // "levels" where their rule has some.
  const std::string& text() const { return text_; }

  // The canonical JSON of a member: equal to TrainingToJson of its training.
  std::string ForReplicate(uint32_t replicate) const;

 private:
  friend class TemplateMaker;  // Beside the code: what is made of JSON.
  struct Hole {
    NoiseSource source = NoiseSource::kInit;
    LaneRule rule;
    uint32_t block = 0;
    std::string before;  // What stands between the hole before it and this one.
  };

  std::string text_;
  std::vector<Hole> holes_;
  std::string rest_;  // After the last hole.
  uint64_t sweep_seed_ = 0;
};

}  // namespace noisefloor
