// One walk over every estimate of a study: JSON, CSV and tables say its value, bounds and n, each
// in its own place. Every estimate is given numbers of its own, so that two that are swapped show.
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/export.h"
#include "coordinator/report/study.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "coordinator/report/words.h"
#include "tests/coordinator/report/example_study.h"

namespace noisefloor::report {
namespace {

using Json = nlohmann::json;

template <typename Record>
struct Named {
  const char* name;  // In JSON and, as the metric, in CSV.
  Estimate Record::*estimate;
};

constexpr Named<Cohort> kOfCohort[] = {{"accuracy", &Cohort::accuracy},
                                       {"accuracy_sd", &Cohort::accuracy_sd},
                                       {"flip_sd", &Cohort::flip_sd},
                                       {"flip_share", &Cohort::flip_share},
                                       {"top5", &Cohort::top5},
                                       {"loss", &Cohort::loss},
                                       {"churn", &Cohort::churn},
                                       {"churn_to_error", &Cohort::churn_to_error},
                                       {"any_disagreement", &Cohort::any_disagreement},
                                       {"any_of_3", &Cohort::any_of_3},
                                       {"l2_raw", &Cohort::l2_raw},
                                       {"l2_normalised", &Cohort::l2_normalised},
                                       {"l2_raw_all", &Cohort::l2_raw_all},
                                       {"l2_normalised_all", &Cohort::l2_normalised_all},
                                       {"cosine", &Cohort::cosine},
                                       {"seconds", &Cohort::seconds},
                                       {"target_epochs", &Cohort::target_epochs}};
constexpr Named<ClassSensitivity> kOfClass[] = {{"accuracy", &ClassSensitivity::accuracy},
                                                {"accuracy_sd", &ClassSensitivity::accuracy_sd},
                                                {"range", &ClassSensitivity::range},
                                                {"ratio", &ClassSensitivity::ratio},
                                                {"churn", &ClassSensitivity::churn}};
constexpr Named<GroupSensitivity> kOfGroup[] = {
    {"accuracy", &GroupSensitivity::accuracy},
    {"accuracy_sd", &GroupSensitivity::accuracy_sd},
    {"ratio", &GroupSensitivity::ratio},
    {"churn", &GroupSensitivity::churn},
    {"false_positive_rate", &GroupSensitivity::false_positive_rate},
    {"false_negative_rate", &GroupSensitivity::false_negative_rate}};
constexpr Named<BlockSummary> kOfBlocks[] = {{"accuracy", &BlockSummary::accuracy},
                                             {"accuracy_sd", &BlockSummary::accuracy_sd},
                                             {"churn", &BlockSummary::churn}};
constexpr Named<Comparison> kOfHardware[] = {
    {"accuracy_difference", &Comparison::accuracy_difference},
    {"churn_paired", &Comparison::churn_paired},
    {"churn_unpaired", &Comparison::churn_unpaired},
    {"churn_excess", &Comparison::churn_excess},
    {"churn_within_a", &Comparison::churn_within_a},
    {"churn_within_b", &Comparison::churn_within_b},
    {"accuracy_correlation", &Comparison::accuracy_correlation},
    {"logits_correlation_paired", &Comparison::logits_correlation_paired},
    {"logits_correlation_unpaired", &Comparison::logits_correlation_unpaired}};
constexpr Named<DivergentExample> kOfExample[] = {{"disagreement", &DivergentExample::disagreement},
                                                  {"accuracy", &DivergentExample::accuracy}};

constexpr Named<DivergentGroup> kOfDivergentGroup[] = {{"ratio", &DivergentGroup::ratio}};

constexpr Named<analysis::EnsembleScores> kOfEnsemble[] = {
    {"accuracy", &analysis::EnsembleScores::accuracy},
    {"log_loss", &analysis::EnsembleScores::log_loss},
    {"brier", &analysis::EnsembleScores::brier},
    {"calibration", &analysis::EnsembleScores::calibration}};

// An estimate and where it is told: as a JSON pointer, and as the first five columns of the CSV.
struct Place {
  std::string pointer;
  std::vector<std::string> csv;
};

std::string At(const std::string& list, size_t i) { return "/" + list + "/" + std::to_string(i); }

template <typename Record, size_t kCount, typename Visit>
void EachOf(Record& record, const Named<Record> (&names)[kCount], const std::string& pointer,
            const std::vector<std::string>& csv, const Visit& visit) {
  for (const Named<Record>& one : names) {
    std::vector<std::string> columns = csv;
    columns.emplace_back(one.name);
    visit(record.*one.estimate, Place{pointer + "/" + one.name, std::move(columns)});
  }
}

template <typename Visit>
void EachCohort(Study& study, const Visit& visit) {
  for (size_t i = 0; i < study.cohorts.size(); ++i) {
    Cohort& cohort = study.cohorts[i];
    const std::string cell = std::to_string(cohort.cell);
    EachOf(cohort, kOfCohort, At("cohorts", i), {"cohort", cell, cohort.label, ""}, visit);
    for (size_t k = 0; k < cohort.per_class.size(); ++k) {
      EachOf(cohort.per_class[k], kOfClass, At("cohorts", i) + At("per_class", k),
             {"class", cell, cohort.label, cohort.per_class[k].name}, visit);
    }
    for (size_t k = 0; k < cohort.per_group.size(); ++k) {
      const GroupSensitivity& group = cohort.per_group[k];
      EachOf(cohort.per_group[k], kOfGroup, At("cohorts", i) + At("per_group", k),
             {"group", cell, cohort.label, group.column + "=" + group.name}, visit);
    }
  }
}

template <typename Visit>
void EachExample(DivergentExamples& divergent, const Visit& visit) {
  for (size_t i = 0; i < divergent.examples.size(); ++i) {
    DivergentExample& example = divergent.examples[i];
    EachOf(example, kOfExample, "/divergent" + At("examples", i),
           {"example", "", example.label_name, std::to_string(example.example)}, visit);
  }
  visit(divergent.subset_disagreement,
        {"/divergent/subset_disagreement", {"example", "", "", "all", "disagreement"}});
  visit(divergent.subset_accuracy,
        {"/divergent/subset_accuracy", {"example", "", "", "all", "accuracy"}});
  for (size_t i = 0; i < divergent.groups.size(); ++i) {
    DivergentGroup& group = divergent.groups[i];
    EachOf(group, kOfDivergentGroup, "/divergent" + At("groups", i),
           {"divergent_group", "", group.column, group.name}, visit);
  }
}

template <typename Visit>
void EachSensitive(Study& study, const Visit& visit) {
  for (size_t i = 0; i < study.sensitive.size(); ++i) {
    SensitiveExamples& of = study.sensitive[i];
    for (size_t k = 0; k < of.most.size(); ++k) {
      visit(of.most[k].rate,
            {At("sensitive", i) + At("most", k) + "/rate",
             {"flipping_example", "", of.label, std::to_string(of.most[k].example), "flip_rate"}});
    }
  }
}

template <typename Visit>
void EachOfSources(Study& study, const Visit& visit) {
  for (size_t i = 0; i < study.contrasts.size(); ++i) {
    Contrast& contrast = study.contrasts[i];
    for (size_t k = 0; k < contrast.figures.size(); ++k) {
      FigureContrast& figure = contrast.figures[k];
      visit(figure.estimate,
            {At("contrasts", i) + At("figures", k) + "/estimate",
             {"contrast", std::to_string(contrast.cells_a.front()),
              contrast.plan.empty() ? contrast.over : contrast.plan + ", " + contrast.over,
              contrast.subject + " " + contrast.b + " against " + contrast.a, figure.figure}});
    }
  }
  for (size_t i = 0; i < study.decompositions.size(); ++i) {
    SourceDecomposition& of = study.decompositions[i];
    const std::string pointer = At("decompositions", i);
    visit(of.whole, {pointer + "/whole", {"sources", "", of.setting, "", of.figure + "_whole"}});
    for (size_t k = 0; k < of.shares.size(); ++k) {
      visit(of.shares[k].share, {pointer + At("shares", k) + "/share",
                                 {"sources", "", of.setting, of.shares[k].sources[0],
                                  of.figure + "_" + of.shares[k].kind}});
    }
  }
}

template <typename Visit>
void EachEnsemble(Ensembles& ensembles, const Visit& visit) {
  for (size_t i = 0; i < ensembles.cohorts.size(); ++i) {
    CohortEnsembles& of = ensembles.cohorts[i];
    for (size_t k = 0; k < of.sizes.size(); ++k) {
      EachOf(of.sizes[k], kOfEnsemble, "/ensembles" + At("cohorts", i) + At("sizes", k),
             {"ensemble", std::to_string(of.cell), of.label, std::to_string(of.sizes[k].size)},
             visit);
    }
  }
  for (size_t i = 0; i < ensembles.mixing.size(); ++i) {
    visit(ensembles.mixing[i].gain, {"/ensembles" + At("mixing", i) + "/gain",
                                     {"mixing", "", ensembles.mixing[i].label, "", "gain"}});
  }
}

template <typename Visit>
void EachEstimate(Study& study, const Visit& visit) {
  EachCohort(study, visit);
  for (size_t i = 0; i < study.blocks.size(); ++i) {
    EachOf(study.blocks[i], kOfBlocks, At("blocks", i), {"blocks", "", study.blocks[i].label, ""},
           visit);
  }
  for (size_t i = 0; i < study.hardware.size(); ++i) {
    Comparison& h = study.hardware[i];
    EachOf(h, kOfHardware, At("hardware", i),
           {"hardware", std::to_string(h.cells_b.front()), h.label,
            h.hardware_a + " against " + h.hardware_b},
           visit);
  }
  EachOfSources(study, visit);
  EachEnsemble(study.ensembles, visit);
  for (size_t i = 0; i < study.trajectories.size(); ++i) {
    Trajectory& of = study.trajectories[i];
    for (const auto& [name, estimates] :
         {std::pair("churn", &of.churn), std::pair("l2_normalised", &of.l2_normalised)}) {
      for (size_t k = 0; k < estimates->size(); ++k) {
        visit((*estimates)[k],
              {At("trajectories", i) + At(name, k),
               {of.factor ? "trajectory_hardware" : "trajectory", std::to_string(of.cells.back()),
                of.label, "step " + std::to_string(of.steps[k]), name}});
      }
    }
  }
  EachExample(study.divergent, visit);
  EachSensitive(study, visit);
}

// The example, with two blocks and the shares of a source beside, and numbers that occur once.
Study DistinctStudy() {
  Study study = BuildStudy(MakeExampleStudy({.groups = true}).input);
  study.blocks = {{.label = "algo, x", .cells = {3, 4}}, {.label = "impl, y", .cells = {6, 7}}};
  SensitiveExamples& sensitive = study.sensitive[0];  // Of which tables show what is found.
  for (const SensitiveExample& one : sensitive.most) sensitive.found.push_back(one.example);
  study.decompositions = {{.figure = "churn",
                           .setting = "cpu-x",
                           .factors = {"init"},
                           .shares = {{"first_order", {"init"}, {}}, {"total", {"init"}, {}}}}};
  int64_t k = 0;
  EachEstimate(study, [&](Estimate& estimate, const Place&) {
    ++k;
    const double value = 0.0013 * static_cast<double>(k);
    estimate.value = value;
    estimate.low = value - 0.0004;
    estimate.high = value + 0.0005;
    estimate.n = 1000 + k;
    estimate.detectable = value + 0.0002;
  });
  return study;
}

size_t CountEstimates(const Json& json) {
  size_t count = json.is_object() && json.contains("detectable_kind") ? 1 : 0;
  for (const auto& item : json) count += item.is_structured() ? CountEstimates(item) : 0;
  return count;
}

TEST(EveryEstimateTest, IsInTheJsonAtItsPlaceToTheLastBit) {
  Study study = DistinctStudy();
  const Json json = Json::parse(StudyToJson(study));
  size_t count = 0;

  EachEstimate(study, [&](const Estimate& estimate, const Place& place) {
    ++count;
    const Json& told = json.at(Json::json_pointer(place.pointer));
    EXPECT_EQ(told["value"], *estimate.value) << place.pointer;
    EXPECT_EQ(told["low"], *estimate.low) << place.pointer;
    EXPECT_EQ(told["high"], *estimate.high) << place.pointer;
    EXPECT_EQ(told["n"], estimate.n) << place.pointer;
    EXPECT_EQ(told["detectable"], *estimate.detectable) << place.pointer;
  });

  EXPECT_EQ(count, CountEstimates(json)) << "an estimate that this walk leaves out";
}

std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

TEST(EveryEstimateTest, IsOneRowOfTheCsv) {
  Study study = DistinctStudy();
  std::map<std::vector<std::string>, std::vector<std::vector<std::string>>> rows;
  std::istringstream csv(StudyToCsv(study));
  for (std::string line; std::getline(csv, line);) {
    std::vector<std::string> fields = FieldsOf(line);
    const std::vector<std::string> key(fields.begin(), fields.begin() + 5);
    rows[key].emplace_back(fields.begin() + 5, fields.end());
  }

  EachEstimate(study, [&](const Estimate& estimate, const Place& place) {
    const auto found = rows[place.csv];
    ASSERT_EQ(found.size(), 1u) << testing::PrintToString(place.csv);
    EXPECT_EQ(std::stod(found[0][0]), *estimate.value) << place.pointer;
    EXPECT_EQ(std::stod(found[0][1]), *estimate.low) << place.pointer;
    EXPECT_EQ(std::stod(found[0][2]), *estimate.high) << place.pointer;
    EXPECT_EQ(std::stoll(found[0][3]), estimate.n) << place.pointer;
    EXPECT_EQ(std::stod(found[0][5]), *estimate.detectable) << place.pointer;
  });
}

// The rows of the table below a heading, each by the names of its columns.
std::vector<std::map<std::string, std::string>> TableBelow(const std::string& text,
                                                           const std::string& heading) {
  std::istringstream lines(text.substr(text.find("\n" + heading) + 1));
  std::string line;
  std::getline(lines, line);  // The heading itself.
  const std::regex gap(" {2,}");
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    std::vector<std::string> cells(
        std::sregex_token_iterator(line.begin() + 2, line.end(), gap, -1), {});
    if (header.empty()) {
      header = cells;
    } else if (cells.size() == header.size()) {
      for (size_t i = 0; i < header.size(); ++i) {
        if (i == 0) rows.emplace_back();
        rows.back()[header[i]] = cells[i];
      }
    }
  }
  return rows;
}

TEST(EveryEstimateTest, OfCellsAndBlocksStandsInItsColumnOfTheTables) {
  Study study = DistinctStudy();
  for (Cohort& cohort : study.cohorts) cohort.counts.total = 99;  // Is not what is done.
  const std::string text = RenderTables(study);

  auto rows = TableBelow(text, "Noise of each cell");
  ASSERT_EQ(rows.size(), study.cohorts.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Cohort& c = study.cohorts[i];
    EXPECT_EQ(rows[i]["n"], std::to_string(c.counts.done));
    EXPECT_EQ(rows[i]["top-1"], WithInterval(c.accuracy));
    EXPECT_EQ(rows[i]["SD of top-1"], WithInterval(c.accuracy_sd));
    EXPECT_EQ(rows[i]["by flips"], Value(c.flip_sd));
    EXPECT_EQ(rows[i]["churn"], WithInterval(c.churn));
    EXPECT_EQ(rows[i]["any differs"], Value(c.any_disagreement));
    EXPECT_EQ(rows[i]["any of 3"], WithInterval(c.any_of_3));
    EXPECT_EQ(rows[i]["L2, unit"], Value(c.l2_normalised));
    EXPECT_EQ(rows[i]["time"], Value(c.seconds));
  }
  rows = TableBelow(text, "Over blocks");
  ASSERT_EQ(rows.size(), study.blocks.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["top-1"], WithInterval(study.blocks[i].accuracy));
    EXPECT_EQ(rows[i]["SD inside a block"], WithInterval(study.blocks[i].accuracy_sd));
    EXPECT_EQ(rows[i]["churn"], WithInterval(study.blocks[i].churn));
  }
}

TEST(EveryEstimateTest, OfHardwareStandsInItsColumnOfTheTables) {
  Study study = DistinctStudy();
  for (Comparison& h : study.hardware) {
    h.draws = h.pairs + 7;
    h.shift.p = 0.03;
    h.shift.p_holm = 0.04;
  }

  auto rows = TableBelow(RenderTables(study), "Hardware: the same replicates");

  ASSERT_EQ(rows.size(), study.hardware.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Comparison& h = study.hardware[i];
    EXPECT_EQ(rows[i]["draws"], std::to_string(h.draws));
    EXPECT_EQ(rows[i]["p, Holm"], "0.03, 0.04");
    EXPECT_EQ(rows[i]["top-1 difference"], WithInterval(h.accuracy_difference));
    EXPECT_EQ(rows[i]["churn of pairs"], WithInterval(h.churn_paired));
    EXPECT_EQ(rows[i]["churn within A / B"],
              Value(h.churn_within_a) + " / " + Value(h.churn_within_b));
    EXPECT_EQ(rows[i]["shift of the mean"], WithInterval(h.churn_excess));
    EXPECT_EQ(rows[i]["r top-1"], Value(h.accuracy_correlation));
    EXPECT_EQ(rows[i]["r logits, pairs / others"],
              Value(h.logits_correlation_paired) + " / " + Value(h.logits_correlation_unpaired));
  }
}

TEST(EveryEstimateTest, OfClassesAndExamplesStandsInItsColumnOfTheTables) {
  const Study study = DistinctStudy();
  const std::string text = RenderTables(study);
  const Cohort& noisiest = study.cohorts.back();  // Numbers rise.

  auto rows = TableBelow(text, "Who pays: classes of " + noisiest.label);
  ASSERT_EQ(rows.size(), 10u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ClassSensitivity& row = noisiest.per_class[9 - i];
    EXPECT_EQ(rows[i]["class"], row.name);
    EXPECT_EQ(rows[i]["top-1"], WithInterval(row.accuracy));
    EXPECT_EQ(rows[i]["SD"], Value(row.accuracy_sd));
    EXPECT_EQ(rows[i]["max - min"], Value(row.range));
    EXPECT_EQ(rows[i]["SD / overall"], Value(row.ratio));
    EXPECT_EQ(rows[i]["churn"], WithInterval(row.churn));
  }
  rows = TableBelow(text, "Who pays: groups of " + noisiest.label);
  ASSERT_EQ(rows.size(), 2u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const GroupSensitivity& row = noisiest.per_group[1 - i];
    EXPECT_EQ(rows[i]["group"], row.column + " " + row.name);
    EXPECT_EQ(rows[i]["examples"], std::to_string(row.examples));
    EXPECT_EQ(rows[i]["top-1"], WithInterval(row.accuracy));
    EXPECT_EQ(rows[i]["SD"], Value(row.accuracy_sd));
    EXPECT_EQ(rows[i]["SD / overall"], Value(row.ratio));
    EXPECT_EQ(rows[i]["FPR"], Value(row.false_positive_rate));
    EXPECT_EQ(rows[i]["FNR"], Value(row.false_negative_rate));
    EXPECT_EQ(rows[i]["churn"], WithInterval(row.churn));
  }
  rows = TableBelow(text, "Most divergent examples");
  ASSERT_EQ(rows.size(), 6u) << "five, and all of them";
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rows[i]["disagreement"], Value(study.divergent.examples[i].disagreement));
    EXPECT_EQ(rows[i]["right"], Value(study.divergent.examples[i].accuracy));
  }
  EXPECT_EQ(rows[5]["disagreement"], WithInterval(study.divergent.subset_disagreement));
  EXPECT_EQ(rows[5]["right"], WithInterval(study.divergent.subset_accuracy));
  rows = TableBelow(text, "Examples that go with the hardware or the stack");
  ASSERT_EQ(rows.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rows[i]["rate, shrunk"], WithInterval(study.sensitive[0].most[i].rate));
  }
}

Estimate Planted(double value) {
  Estimate estimate;
  estimate.value = value;
  return estimate;
}

TEST(EveryEstimateTest, OfSourcesAndEnsemblesStandsInItsColumnOfTheTables) {
  Study study = DistinctStudy();
  study.ensembles.cohorts.resize(1);
  CohortEnsembles& ensembles = study.ensembles.cohorts[0];
  ensembles.members = 8;
  ensembles.sizes.resize(1);
  ensembles.sizes[0].size = 4;
  ensembles.sizes[0].accuracy = Planted(0.125);
  ensembles.sizes[0].log_loss = Planted(0.25);
  ensembles.sizes[0].brier = Planted(0.375);
  ensembles.sizes[0].calibration = Planted(0.5);
  const std::string text = RenderTables(study);

  auto rows = TableBelow(text, "Where it comes from");
  ASSERT_EQ(rows.size(), 1u);
  const std::vector<SourceShare>& shares = study.decompositions[0].shares;
  EXPECT_EQ(rows[0]["alone"], WithInterval(shares[0].share));
  EXPECT_EQ(rows[0]["with all it acts through"], WithInterval(shares[1].share));
  rows = TableBelow(text, "Ensembles: ");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["k"], "4");
  EXPECT_EQ(rows[0]["n"], "8");
  EXPECT_EQ(rows[0]["top-1"], "0.125");
  EXPECT_EQ(rows[0]["log loss"], "0.250");
  EXPECT_EQ(rows[0]["Brier"], "0.375");
  EXPECT_EQ(rows[0]["calibration error"], "0.500");
}

}  // namespace
}  // namespace noisefloor::report
