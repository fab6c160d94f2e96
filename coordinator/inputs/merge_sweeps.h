// What was asked for at several sites, as one sweep. Internal to this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coordinator/report/study_input.h"

namespace noisefloor::inputs {

// Everything that makes equal lanes equal draws of equal trainings must be the same at all sites;
// plans, values of axes, replicates and blocks are joined.
class MergedSweep {
 public:
  void Add(const std::string& site, const report::SweepInput& sweep,
           std::vector<std::string>& conflicts);

  // Place along each axis, of each plan; behind the last one what no sweep names.
  std::vector<size_t> PointOf(const std::vector<report::AxisSetting>& cell) const;
  size_t PlanOf(const std::string& plan) const;

  report::SweepInput Finish() { return std::move(merged_); }

 private:
  void CheckSettings(const std::string& site, const report::SweepInput& sweep,
                     std::vector<std::string>& conflicts) const;
  void AddAxes(const std::string& site, const report::SweepInput& sweep,
               std::vector<std::string>& conflicts);
  void AddPlans(const std::string& site, const report::SweepInput& sweep,
                std::vector<std::string>& conflicts);
  void AddFile(const std::string& site, const report::SweepInput& sweep);

  report::SweepInput merged_;
  std::string first_;               // The site that everything is held against; empty: none yet.
  std::vector<std::string> files_;  // Of the sites, those that differ.
};

}  // namespace noisefloor::inputs
