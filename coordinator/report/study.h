// The numbers of a report as ONE value, which tables, JSON, CSV and the page all show.
//
// JSON (study_json.h) has the same names as the fields here. Accuracies, churn and other fractions
// are in [0, 1]; what shows them turns them into percent. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/report/study_classes.h"
#include "coordinator/report/study_comparison.h"
#include "coordinator/report/study_contrast.h"
#include "coordinator/report/study_decomposition.h"
#include "coordinator/report/study_ensembles.h"
#include "coordinator/report/study_examples.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::report {

inline constexpr int kStudyVersion = 2;

struct MemberCounts {
  int64_t total = 0;  // Planned.
  int64_t done = 0;
  int64_t diverged = 0;
  int64_t failed = 0;
  int64_t cancelled = 0;
  int64_t missing = 0;              // Not finished: waiting or leased.
  int64_t retried = 0;              // More than one attempt.
  int64_t without_predictions = 0;  // Done, but no predictions kept.
  int64_t without_weights = 0;
};

struct EvaluationFacts {
  std::string data_set;
  std::string identity;
  int64_t examples = 0;
  int32_t classes = 0;
  std::vector<std::string> class_names;
  int64_t attributes = 0;  // Not 0: answers are decisions, so many on each example.
};

// A row of the list of members; `cell` is a cell index, not a position.
struct MemberRow {
  std::string id;
  uint32_t cell = 0;
  uint32_t replicate = 0;
  std::string state;  // "done", "diverged", ...
  uint32_t attempts = 0;
  double seconds = 0;
  std::string unit;
  std::map<std::string, std::string> lanes;  // source -> "block.number"
  Hashes hashes;
  std::map<std::string, double> final_metrics;
  std::string failure;  // "data: ...": why it failed; "" when it did not.
};

// The result of one cell: its members compared with each other.
struct Cohort {
  uint32_t cell = 0;
  std::string label;       // "algo, cpu-intel-avx2, learning_rate=0.05"
  std::string axes_label;  // "learning_rate=0.05"; "" without axes.
  std::vector<AxisSetting> axes;
  std::string plan;
  std::map<std::string, std::string> sources;  // source -> "off", "fixed", "free"
  std::string hardware;                        // "any" where the sweep names no class.
  std::string stack;
  std::string stack_fingerprint;
  std::string trainer_build;
  uint32_t block = 0;
  MemberCounts counts;
  bool under_trained = false;       // Rule in warnings; read its churn with care.
  bool all_fixed = false;           // A control cohort: must be bit-identical.
  std::vector<std::string> acting;  // Sources that are free and act.
  std::vector<std::string> held;    // Seeded sources with one draw for all its members.
  // Sources that are free and of which members share draws, as their levels say: then there is no
  // spread of independent trainings and no interval.
  std::vector<std::string> shared;
  std::vector<std::string> idle;  // Sources that are free and act on nothing.
  Estimate accuracy;              // Mean of test top-1.
  Estimate accuracy_sd;           // ddof 1.
  Estimate flip_sd;               // What of it answers that flip independently would give.
  Estimate flip_share;            // Of its variance.
  Estimate top5;
  Estimate loss;
  Estimate churn;             // Mean over pairs.
  Estimate churn_to_error;    // churn / (1 - accuracy), beside the null of 1.
  Estimate any_disagreement;  // Grows with n: n is always shown.
  Estimate any_of_3;          // The same of any three of them, whatever n.
  Estimate l2_raw;            // Mean over pairs, parameters only.
  Estimate l2_normalised;
  Estimate l2_raw_all;  // With buffers.
  Estimate l2_normalised_all;
  Estimate cosine;         // Parameters only.
  Estimate seconds;        // Mean per member.
  Estimate target_epochs;  // Until top-1 is first at the sweep's reference_accuracy: see targets.h.
  std::vector<ClassSensitivity> per_class;
  std::vector<GroupSensitivity> per_group;  // Of each column in turn.
};

// Cells that differ in their block only: does a figure hang on one draw of the fixed sources?
// Each block is an independent draw, so these intervals are over blocks.
struct BlockSummary {
  std::string label;
  std::string plan;
  std::string axes_label;
  std::string hardware;
  std::vector<uint32_t> cells;
  Estimate accuracy;
  Estimate accuracy_sd;  // Inside the blocks: root of the pooled variance.
  Estimate churn;
};

// What the members of a control cohort came to on one physical device.
struct UnitResults {
  std::string unit;
  std::vector<std::string> members;  // Those with a result.
  int64_t different_results = 0;     // Of those with a hash of their weights.
  std::string result;  // Its one result, by hash; empty where there are several, or not all known.
};

// Are the members of a control cohort bit-identical?
struct ControlCheck {
  uint32_t cell = 0;
  std::string label;
  std::string verdict;  // "identical", "different", "unproved" (fewer than two members).
  int64_t members = 0;
  int64_t units = 0;                 // Different physical devices they ran on.
  std::vector<UnitResults> by_unit;  // Where it is known; by name.
  int64_t duplicates = 0;            // Late results compared as well.
  std::string first_difference;      // "weights at evaluation 2"; "" when identical.
  // When identical: at most this share of runs differ from this result, at 95 %.
  std::optional<double> upper_bound;
  std::string text;  // In words.
};

// A physical source left free, with every seeded source fixed: did it do anything?
struct PhysicalCheck {
  uint32_t cell = 0;
  std::string label;
  std::vector<std::string> sources;  // The physical sources that were free.
  bool noise_seen = false;
  int64_t runs = 0;
  int64_t different_results = 0;  // Distinct weight hashes.
  // When no noise was seen in two runs or more: at most this share differs from this result.
  std::optional<double> upper_bound;
  std::string text;  // In words, with the formula.
};

// A draw of the held sources whose accuracy lies outside that of all free draws.
struct FixedDraw {
  std::string axes_label;
  uint32_t block = 0;
  double accuracy = 0;
  double lowest = 0;  // Of the free draws.
  double highest = 0;
  int64_t free_draws = 0;
  std::string text;  // In words.
};

// One metric of one cell over training. Vectors have one entry for each step; absent where none.
struct CurveMember {
  std::string id;
  std::vector<std::optional<double>> values;  // May be nan or infinite: that is a result.
};
struct Curve {
  uint32_t cell = 0;
  std::string metric;  // "test_top1", "test_top5", "test_loss", "train_loss"
  std::vector<int64_t> steps;
  std::vector<double> epochs;
  std::vector<std::optional<double>> mean;  // Over members with a finite value there.
  std::vector<std::optional<double>> sd;    // ddof 1; absent below two.
  std::vector<int64_t> n;
  std::vector<CurveMember> members;
};

// How trainings part: the members of a cell, or the same draws on both sides of a comparison.
// Vectors have one entry for each evaluation whose predictions or weights were kept.
struct Trajectory {
  std::optional<Factor> factor;  // What the sides differ in; absent: of a cell.
  std::string label;             // Of the cell, or of the comparison.
  std::vector<uint32_t> cells;   // The cell; or one of side A and one of B.
  std::vector<int64_t> steps;
  std::vector<double> epochs;
  std::vector<Estimate> churn;          // Absent where predictions were not kept.
  std::vector<Estimate> l2_normalised;  // Of parameters; absent where weights were not kept.
};

// Churn between all members, ordered by cell and replicate.
struct HeatMap {
  std::vector<std::string> members;
  std::vector<uint32_t> cells;                             // Of each member.
  std::vector<std::vector<std::optional<double>>> values;  // {members, members}
  int64_t left_out = 0;  // Beyond the limit, or without predictions.
  std::string note;
};

// What ran: for each hardware class the values of each fact, more than one when mixed.
struct EnvironmentFact {
  std::string key;                  // "versions.libtorch"
  std::vector<std::string> values;  // Distinct, sorted.
};
struct EnvironmentRow {
  std::string hardware;
  int64_t members = 0;
  std::vector<std::string> summaries;
  std::vector<EnvironmentFact> facts;
};

struct Warning {
  std::string severity;  // "error" (a promise broken), "warning", "note"
  std::string subject;   // "cell 3", "sweep", a member id
  std::string text;
};

struct Study {
  int study_version = kStudyVersion;
  std::string title;
  SweepInput sweep;
  MemberCounts counts;
  bool interim = false;  // Members are still to come: nothing is tested yet.
  EvaluationFacts evaluation;
  std::vector<std::string> headlines;   // Is it noise, from where, does hardware add, who pays.
  std::vector<std::string> guidelines;  // What to do, each with what it rests on.
  std::vector<Cohort> cohorts;          // Ordered by cell.
  std::vector<BlockSummary> blocks;     // Where a cell has two blocks or more.
  std::vector<ControlCheck> controls;
  std::vector<PhysicalCheck> physical;
  std::vector<SettingTest> hardware_tests;
  std::vector<Comparison> stacks;
  std::vector<SettingTest> stack_tests;
  std::vector<Comparison> hardware;
  std::vector<Contrast> contrasts;
  std::vector<SourceDecomposition> decompositions;
  Ensembles ensembles;
  WorstClasses worst_classes;
  std::vector<WorstClasses> worst_groups;  // Of each column that groups the examples.
  std::vector<FixedDraw> fixed_draws;
  std::vector<Curve> curves;
  std::vector<Trajectory> trajectories;
  HeatMap heat_map;
  DivergentExamples divergent;
  std::vector<SensitiveExamples> sensitive;  // Of each comparison whose replicates are draws.
  std::vector<EnvironmentRow> environment;
  std::vector<Warning> warnings;
  std::vector<MemberRow> members;
};

// All the numbers of `input`. Never fails: what cannot be estimated is absent, with a note.
Study BuildStudy(const StudyInput& input);

}  // namespace noisefloor::report
