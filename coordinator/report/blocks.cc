#include "coordinator/report/blocks.h"

#include <limits>
#include <map>
#include <tuple>

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/pairing.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// What cohorts that differ in their block only have in common.
using BlockKey = std::tuple<std::vector<AxisSetting>, std::string, std::string, std::string>;
BlockKey KeyOf(const Cohort& cohort) {
  return {cohort.axes, cohort.plan, cohort.hardware, cohort.stack};
}

Estimate OverBlocks(const std::vector<const Cohort*>& cohorts, Estimate Cohort::*figure) {
  const Estimate& first = cohorts[0]->*figure;
  if (!cohorts[0]->shared.empty() && !first.value) return first;
  std::vector<double> values;
  for (const Cohort* cohort : cohorts) {
    values.push_back((cohort->*figure).value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  Estimate estimate = analysis::MeanEstimate(values, first.unit);
  if (estimate.value) estimate.method = "mean over blocks; Student's t over blocks, n = blocks";
  analysis::CutInterval(estimate, 0, 1);
  return estimate;
}

// The SD inside the blocks, from the members of all of them.
Estimate SdInsideBlocks(const Gathered& gathered, const std::vector<const Cohort*>& cohorts) {
  if (!cohorts[0]->shared.empty()) {
    return analysis::Absent("fraction", 0, SharingText(cohorts[0]->shared));
  }
  std::map<uint32_t, const CellFacts*> cells;
  for (const CellFacts& cell : gathered.cells) cells[cell.input->index] = &cell;
  std::vector<std::vector<double>> blocks;
  for (const Cohort* cohort : cohorts) {
    const std::vector<size_t>& done = cells.at(cohort->cell)->done;
    blocks.push_back(ValuesOf(gathered, done, &MemberFacts::accuracy));
  }
  Estimate sd = analysis::PooledSdEstimate(blocks, "fraction");
  // As a contrast of this plan has it, whose draws are then all replicates.
  if (sd.value && ReplicatesAreDraws(*cells.at(cohorts[0]->cell), cohorts.size())) {
    sd.detectable = analysis::DetectableSdRatio(sd.n);
  }
  return sd;
}

std::string LabelOf(const Cohort& cohort, bool several_stacks) {
  std::string label = cohort.plan + ", " + cohort.hardware;
  if (several_stacks) label += ", " + StackName(cohort.stack);
  return cohort.axes_label.empty() ? label : label + ", " + cohort.axes_label;
}

}  // namespace

void DropRatiosOfCopies(const Gathered& gathered, std::vector<Cohort>& cohorts) {
  std::map<BlockKey, size_t> blocks;
  for (const Cohort& cohort : cohorts) ++blocks[KeyOf(cohort)];
  for (size_t k = 0; k < cohorts.size(); ++k) {
    if (ReplicatesAreDraws(gathered.cells[k], blocks.at(KeyOf(cohorts[k])))) continue;
    cohorts[k].accuracy_sd.detectable.reset();
  }
}

std::vector<BlockSummary> BuildBlocks(const Gathered& gathered,
                                      const std::vector<Cohort>& cohorts) {
  std::map<BlockKey, std::vector<const Cohort*>> groups;
  for (const Cohort& cohort : cohorts) groups[KeyOf(cohort)].push_back(&cohort);
  const bool several_stacks = HaveSeveralStacks(gathered.cells);
  std::vector<BlockSummary> summaries;
  for (const auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    BlockSummary& summary = summaries.emplace_back();
    summary.label = LabelOf(*group[0], several_stacks);
    summary.plan = group[0]->plan;
    summary.axes_label = group[0]->axes_label;
    summary.hardware = group[0]->hardware;
    for (const Cohort* cohort : group) summary.cells.push_back(cohort->cell);
    summary.accuracy = OverBlocks(group, &Cohort::accuracy);
    summary.accuracy_sd = SdInsideBlocks(gathered, group);
    summary.churn = OverBlocks(group, &Cohort::churn);
  }
  return summaries;
}

}  // namespace noisefloor::report
