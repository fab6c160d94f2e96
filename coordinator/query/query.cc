#include "coordinator/query/query.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/mutex.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/inputs/on_the_way.h"
#include "coordinator/query/infer_source.h"
#include "coordinator/query/known_distances.h"
#include "coordinator/query/load_cost.h"
#include "coordinator/query/load_infer.h"
#include "coordinator/query/member_news.h"
#include "coordinator/query/member_rows.h"
#include "coordinator/query/plan.h"
#include "coordinator/query/reader_pool.h"
#include "coordinator/query/replay_source.h"
#include "coordinator/query/study_source_of.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/query/work_queue.h"
#include "coordinator/report/cost_text.h"
#include "coordinator/report/export.h"
#include "coordinator/report/infer_text.h"
#include "coordinator/report/page.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "coordinator/report/until.h"
#include "coordinator/store/database.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor::query {

namespace {

// shared: a study being printed stays while a newer one takes its place.
using StudyPointer = std::shared_ptr<const report::Study>;

// Whatever changes what a study says leaves an event or an attempt.
std::string StateOf(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT (SELECT max(event) FROM event WHERE sweep = ?1), "
                        "(SELECT max(lease) FROM lease WHERE sweep = ?1), "
                        "(SELECT count(*) FROM lease l JOIN attempt a USING (lease) "
                        " WHERE l.sweep = ?1), "
                        "(SELECT group_concat(n) FROM (SELECT count(*) AS n FROM member "
                        " WHERE sweep = ?1 GROUP BY state))");
  row.bind(1, static_cast<int64_t>(sweep));
  row.executeStep();
  return fmt::format("s{} {} {} {} {}", sweep, row.getColumn(0).getString(),
                     row.getColumn(1).getString(), row.getColumn(2).getString(),
                     row.getColumn(3).getString());
}

report::Screen ScreenOf(const StudyQuestion& question) {
  return {.colour = question.colour ? report::Colour::kOn : report::Colour::kOff,
          .columns = question.columns};
}

constexpr size_t kMostDigestsWaiting = 10'000;

class StoreQuery final : public Query {
 public:
  StoreQuery(QueryOptions options, BlobStore blobs)
      : options_(std::move(options)),
        blobs_(std::move(blobs)),
        digests_(DerivedFiles::At(options_.home)),
        database_path_(DatabasePath(options_.home)),
        readers_(database_path_),
        studies_(1, options_.waiting_limit),
        watches_(1, options_.watch_limit),
        reads_(options_.read_threads, options_.waiting_limit),
        digest_makers_(1, kMostDigestsWaiting) {}

  bool Post(Work kind, std::function<void()> work) override {
    switch (kind) {
      case Work::kRead: return reads_.Post(std::move(work));
      case Work::kWatch: return watches_.Post(std::move(work));
      case Work::kStudy: return studies_.Post(std::move(work));
    }
    return false;
  }

  void MakeDigest(const BlobName& predictions) override {
    const uint64_t bytes = predictions.size_bytes;
    if (digests_waiting_.fetch_add(bytes) > options_.digest_bytes) {
      digests_waiting_ -= bytes;
      return;
    }
    const bool posted = digest_makers_.Post([this, predictions, bytes] {
      // One that fails is made by the first study that needs it, which says why it cannot.
      (void)Guarded<inputs::Digest>(
          [&] { return query::MakeDigest(predictions, blobs_, digests_); });
      digests_waiting_ -= bytes;
    });
    if (!posted) digests_waiting_ -= bytes;
  }

  const std::string& database_path() const override { return database_path_; }

  absl::StatusOr<SweepId> FindSweep(SweepId asked) override {
    return Read<SweepId>([&](auto& database) -> absl::StatusOr<SweepId> {
      NF_ASSIGN_OR_RETURN(const uint64_t sweep, query::FindSweep(database, asked.value));
      return SweepId{sweep};
    });
  }

  absl::StatusOr<SweepSummary> SummariseSweep(SweepId asked, SweepView view) override {
    return Read<SweepSummary>([&](auto& database) -> absl::StatusOr<SweepSummary> {
      NF_ASSIGN_OR_RETURN(const uint64_t sweep, query::FindSweep(database, asked.value));
      return Summarise(database, sweep, view, options_.live, caches_);
    });
  }

  absl::StatusOr<SweepWhole> GetSweep(SweepId asked) override {
    return Read<SweepWhole>([&](auto& database) -> absl::StatusOr<SweepWhole> {
      NF_ASSIGN_OR_RETURN(const uint64_t sweep, query::FindSweep(database, asked.value));
      return ReadSweep(database, sweep, options_.live, caches_);
    });
  }

  absl::StatusOr<SweepPage> ListSweeps(const SweepQuestion& question) override {
    return Read<SweepPage>(
        [&](auto& database) { return ReadSweeps(database, question, options_.live, caches_); });
  }

  absl::StatusOr<MemberPage> ListMembers(const MemberQuestion& question) override {
    return Read<MemberPage>(
        [&](auto& database) { return ReadMembers(database, question, options_.live); });
  }

  absl::StatusOr<MemberWhole> GetMember(const MemberId& member) override {
    return Read<MemberWhole>(
        [&](auto& database) { return ReadMember(database, member, options_.live); });
  }

  absl::StatusOr<std::vector<WorkerRow>> ListWorkers() override {
    return Read<std::vector<WorkerRow>>([&](auto& database) {
      return absl::StatusOr<std::vector<WorkerRow>>(ReadWorkers(database));
    });
  }

  absl::StatusOr<SweepNews> WatchSweep(const SweepPlace& place) override {
    return Read<SweepNews>(
        [&](auto& database) { return ReadNews(database, place, options_.live, caches_); });
  }

  absl::StatusOr<MemberNews> WatchMember(const MemberPlace& place) override {
    return Read<MemberNews>(
        [&](auto& database) { return ReadMemberNews(database, place, options_.live); });
  }

  absl::StatusOr<Plan> PlanSweep(const sweep::Sweep& sweep,
                                 std::span<const FleetWorker> fleet) override {
    return Read<Plan>(
        [&](auto& database) { return absl::StatusOr<Plan>(MakePlan(database, sweep, fleet)); });
  }

  absl::StatusOr<ReplaySource> FindReplaySource(const MemberId& member) override {
    return Read<ReplaySource>(
        [&](auto& database) { return query::FindReplaySource(database, member); });
  }

  absl::StatusOr<InferSources> FindInferSources(const InferQuestion& question) override {
    return Read<InferSources>(
        [&](auto& database) { return query::FindInferSources(database, question, blobs_); });
  }

  absl::StatusOr<std::string> FindWeights(const std::string& sha256) override {
    NF_RETURN_IF_ERROR(
        Read<bool>([&](auto& database) { return CheckIsInferred(database, sha256); }).status());
    return blobs_.PathOf(sha256);
  }

  absl::StatusOr<Definition> FindDefinition(SweepId sweep) override {
    return Read<Definition>([&](auto& database) { return ReadDefinition(database, sweep.value); });
  }

  absl::StatusOr<Settlement> DecideUntil(SweepId sweep) override;

  absl::StatusOr<std::string> GetStudy(const StudyQuestion& question) override;

  absl::StatusOr<ArtifactFile> FindArtifact(const MemberId& member,
                                            const std::string& kind) override {
    NF_ASSIGN_OR_RETURN(const BlobName name, Read<BlobName>([&](auto& database) {
                          return ReadArtifactName(database, member, kind);
                        }));
    if (!blobs_.Has(name)) {
      return MakeError(
          absl::StatusCode::kDataLoss,
          fmt::format("{}: its file of kind \"{}\", {}, is missing or not of {} bytes",
                      ToText(member), kind, blobs_.PathOf(name.sha256), name.size_bytes));
    }
    return ArtifactFile{blobs_.PathOf(name.sha256), name.sha256, name.size_bytes};
  }

 private:
  // `work`'s answer, or what it threw: a row that makes no sense must not end the process.
  template <typename T, typename F>
  absl::StatusOr<T> Guarded(const F& work) const {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      return ToStatus(error, "reading " + database_path_);
    } catch (const std::bad_alloc&) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       fmt::format("{}: not enough memory for it", database_path_));
    } catch (const std::exception& error) {
      return MakeError(absl::StatusCode::kInternal,
                       fmt::format("{}: {}", database_path_, error.what()));
    }
  }

  template <typename T, typename F>
  absl::StatusOr<T> Read(const F& read) {
    NF_ASSIGN_OR_RETURN(Reader reader, readers_.Borrow());
    return Guarded<T>([&] { return read(reader.database()); });
  }

  inputs::LoadedStudy Load(StudyRows rows) {
    inputs::LoadedStudy loaded =
        inputs::LoadArrays(SourceOf(std::move(rows)), FilesOf(blobs_, verified_),
                           DigestsOf(blobs_, digests_, verified_));
    loaded.input.distances = &distances_;
    return loaded;
  }

  absl::StatusOr<std::string> GetCost(const StudyQuestion& question, uint64_t sweep);
  absl::StatusOr<std::string> GetInfer(const StudyQuestion& question, uint64_t sweep);
  absl::StatusOr<std::string> GetInput(uint64_t asked);
  absl::StatusOr<StudyPointer> StudyOf(uint64_t asked) ABSL_LOCKS_EXCLUDED(mutex_);
  StudyPointer Remembered(const std::string& state) ABSL_LOCKS_EXCLUDED(mutex_);

  const QueryOptions options_;
  const BlobStore blobs_;
  const DerivedFiles digests_;
  std::atomic<uint64_t> digests_waiting_ = 0;  // Bytes of the files.
  VerifiedFiles verified_;
  KnownDistances distances_;
  const std::string database_path_;
  ReaderPool readers_;
  SweepCaches caches_;
  Mutex mutex_;
  std::string remembered_state_ ABSL_GUARDED_BY(mutex_);
  StudyPointer remembered_ ABSL_GUARDED_BY(mutex_);  // The last one: forms of it come in a row.
  // Last, so that their threads end before what they use.
  WorkQueue studies_;
  WorkQueue watches_;
  WorkQueue reads_;
  WorkQueue digest_makers_;
};

// A sweep that has a study of its own.
absl::StatusOr<uint64_t> FindStudy(SQLite::Database& database, uint64_t asked) {
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, asked));
  NF_RETURN_IF_ERROR(CheckIsStudy(database, sweep));
  return sweep;
}

StudyPointer StoreQuery::Remembered(const std::string& state) {
  MutexLock lock(mutex_);
  return state == remembered_state_ ? remembered_ : nullptr;
}

// Rows are read in one go; files and figures take longer, and no reader waits for them.
absl::StatusOr<StudyPointer> StoreQuery::StudyOf(uint64_t asked) {
  std::string state;
  StudyPointer known;
  NF_ASSIGN_OR_RETURN(StudyRows rows,
                      Read<StudyRows>([&](auto& database) -> absl::StatusOr<StudyRows> {
                        NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindStudy(database, asked));
                        state = StateOf(database, sweep);
                        known = Remembered(state);
                        if (known != nullptr) return StudyRows{};
                        return ReadStudyRows(database, sweep);
                      }));
  if (known != nullptr) return known;
  NF_ASSIGN_OR_RETURN(
      known, Guarded<StudyPointer>([&] {
        rows.input.sweep.noisefloor_version = options_.version;
        return std::make_shared<const report::Study>(inputs::BuildStudy(Load(std::move(rows))));
      }));
  MutexLock lock(mutex_);
  remembered_state_ = state;
  remembered_ = known;
  return known;
}

absl::StatusOr<Settlement> StoreQuery::DecideUntil(SweepId sweep) {
  Definition kept;
  NF_ASSIGN_OR_RETURN(StudyRows rows,
                      Read<StudyRows>([&](auto& database) -> absl::StatusOr<StudyRows> {
                        NF_ASSIGN_OR_RETURN(kept, ReadDefinition(database, sweep.value));
                        return ReadStudyRows(database, sweep.value);
                      }));
  for (std::vector<inputs::InputFile>& files : rows.files) {  // Nothing is decided by those.
    std::erase_if(files, [](const auto& file) { return inputs::ReadOnTheWay(file.kind); });
  }
  if (!sweep::IsUndecided(kept.sweep)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     ToText(sweep) + " has nothing to decide");
  }
  return Guarded<Settlement>([&] {
    const inputs::LoadedStudy loaded = Load(std::move(rows));
    report::Enough enough = report::DecideUntil(loaded.input);
    return Settlement{sweep::Settled(kept.sweep, enough.replicates), kept.specification_sha256,
                      std::move(enough.text)};
  });
}

// Of a measurement. Little is read, so that nothing is remembered.
absl::StatusOr<std::string> StoreQuery::GetCost(const StudyQuestion& question, uint64_t sweep) {
  NF_ASSIGN_OR_RETURN(const StudyRows rows, Read<StudyRows>([&](auto& database) {
                        return ReadStudyRows(database, sweep);
                      }));
  return Guarded<std::string>([&]() -> absl::StatusOr<std::string> {
    const report::CostStudy study = LoadCost(rows, FilesOf(blobs_, verified_));
    switch (question.form) {
      case StudyForm::kJson: return report::CostToJson(study);
      case StudyForm::kTables: return report::RenderCostTables(study, ScreenOf(question));
      case StudyForm::kCsv: return report::CostToCsv(study);
      case StudyForm::kPage: return report::RenderCostPage(study);
      case StudyForm::kInput: break;
    }
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "what determinism costs is made of no trainings");
  });
}

absl::StatusOr<std::string> StoreQuery::GetInfer(const StudyQuestion& question, uint64_t sweep) {
  NF_ASSIGN_OR_RETURN(InferRows rows, Read<InferRows>([&](auto& database) {
                        return ReadInferRows(database, sweep);
                      }));
  return Guarded<std::string>([&] {
    const report::InferStudy study = LoadInfer(std::move(rows), FilesOf(blobs_, verified_));
    switch (question.form) {
      case StudyForm::kJson: return report::InferToJson(study);
      case StudyForm::kCsv: return report::InferToCsv(study);
      case StudyForm::kPage: return report::RenderInferPage(study);
      case StudyForm::kTables:
      case StudyForm::kInput: break;
    }
    return report::RenderInferTables(study, ScreenOf(question));
  });
}

// Rows alone: no array is opened.
absl::StatusOr<std::string> StoreQuery::GetInput(uint64_t asked) {
  NF_ASSIGN_OR_RETURN(StudyRows rows,
                      Read<StudyRows>([&](auto& database) -> absl::StatusOr<StudyRows> {
                        NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindStudy(database, asked));
                        return ReadStudyRows(database, sweep);
                      }));
  rows.input.sweep.noisefloor_version = options_.version;
  return Guarded<std::string>([&] { return inputs::SourceToJson(SourceOf(std::move(rows))); });
}

absl::StatusOr<std::string> StoreQuery::GetStudy(const StudyQuestion& question) {
  NF_ASSIGN_OR_RETURN(const SweepOfKind asked, Read<SweepOfKind>([&](auto& database) {
                        return FindSweepOfKind(database, question.sweep.value);
                      }));
  if (asked.kind == sweep::Kind::kMeasure) return GetCost(question, asked.sweep);
  if (asked.kind == sweep::Kind::kInfer && question.form != StudyForm::kInput) {
    return GetInfer(question, asked.sweep);
  }
  if (question.form == StudyForm::kInput) return GetInput(question.sweep.value);
  NF_ASSIGN_OR_RETURN(const StudyPointer study, StudyOf(question.sweep.value));
  switch (question.form) {
    case StudyForm::kJson: return report::StudyToJson(*study);
    case StudyForm::kTables: return report::RenderTables(*study, ScreenOf(question));
    case StudyForm::kCsv: return report::StudyToCsv(*study);
    case StudyForm::kPage:
    case StudyForm::kInput: break;
  }
  if (options_.page_script.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "this program was built without the report page; ask for the tables, JSON or "
                     "CSV");
  }
  return report::RenderPage(study->title, study->headlines, report::StudyToJson(*study),
                            options_.page_script, options_.page_style);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Query>> Query::Open(QueryOptions options) {
  NF_ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(options.home));
  NF_RETURN_IF_ERROR(OpenForReading(DatabasePath(options.home)).status());
  return std::unique_ptr<Query>(new StoreQuery(std::move(options), std::move(blobs)));
}

}  // namespace noisefloor::query
