#include "coordinator/query/query.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "SQLiteCpp/Statement.h"
#include "google/protobuf/stubs/logging.h"

#include "common/base/mutex.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/query/load_study.h"
#include "coordinator/query/member_news.h"
#include "coordinator/query/member_rows.h"
#include "coordinator/query/plan.h"
#include "coordinator/query/reader_pool.h"
#include "coordinator/query/replay_source.h"
#include "coordinator/query/summary_cache.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/query/work_queue.h"
#include "coordinator/report/export.h"
#include "coordinator/report/page.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "coordinator/store/database.h"

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

class StoreQuery final : public Query {
 public:
  StoreQuery(QueryOptions options, BlobStore blobs)
      : options_(std::move(options)),
        blobs_(std::move(blobs)),
        readers_(DatabasePath(options_.home)),
        studies_(1, options_.waiting_limit),
        watches_(1, options_.watch_limit),
        reads_(options_.read_threads, options_.waiting_limit) {}

  bool Post(Work kind, std::function<void()> work) override {
    switch (kind) {
      case Work::kRead: return reads_.Post(std::move(work));
      case Work::kWatch: return watches_.Post(std::move(work));
      case Work::kStudy: return studies_.Post(std::move(work));
    }
    return false;
  }

  absl::StatusOr<v1::GetSweepResponse> GetSweep(const v1::GetSweepRequest& request) override {
    return Read<v1::GetSweepResponse>([&](auto& database) -> absl::StatusOr<v1::GetSweepResponse> {
      NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, request.sweep_id()));
      v1::GetSweepResponse response;
      NF_ASSIGN_OR_RETURN(*response.mutable_sweep(),
                          SummariseSweep(database, sweep, options_.live, summaries_));
      NF_RETURN_IF_ERROR(ReadFiles(database, sweep, response));
      return response;
    });
  }

  absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const v1::ListSweepsRequest& request) override {
    return Read<v1::ListSweepsResponse>(
        [&](auto& database) { return ReadSweeps(database, request, options_.live, summaries_); });
  }

  absl::StatusOr<v1::ListMembersResponse> ListMembers(
      const v1::ListMembersRequest& request) override {
    return Read<v1::ListMembersResponse>(
        [&](auto& database) { return ReadMembers(database, request, options_.live); });
  }

  absl::StatusOr<v1::GetMemberResponse> GetMember(const v1::GetMemberRequest& request) override {
    return Read<v1::GetMemberResponse>(
        [&](auto& database) { return ReadMember(database, request, options_.live); });
  }

  absl::StatusOr<v1::ListWorkersResponse> ListWorkers() override {
    return Read<v1::ListWorkersResponse>([&](auto& database) {
      return absl::StatusOr<v1::ListWorkersResponse>(ReadWorkers(database));
    });
  }

  absl::StatusOr<v1::WatchSweepResponse> WatchSweep(const v1::WatchSweepRequest& request) override {
    return Read<v1::WatchSweepResponse>(
        [&](auto& database) { return ReadWatch(database, request, options_.live, summaries_); });
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

  absl::StatusOr<Definition> FindDefinition(SweepId sweep) override {
    return Read<Definition>([&](auto& database) { return ReadDefinition(database, sweep.value); });
  }

  absl::StatusOr<std::string> GetStudy(const v1::GetStudyRequest& request) override;

  absl::StatusOr<ArtifactFile> FindArtifact(const v1::GetArtifactRequest& request) override {
    NF_ASSIGN_OR_RETURN(const BlobName name, Read<BlobName>([&](auto& database) {
                          return ReadArtifactName(database, request);
                        }));
    if (!blobs_.Has(name)) {
      return MakeError(absl::StatusCode::kDataLoss,
                       fmt::format("{}: its file of kind \"{}\", {}, is missing or not of {} bytes",
                                   request.member(), request.kind(), blobs_.PathOf(name.sha256),
                                   name.size_bytes));
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
      return ToStatus(error, "reading " + DatabasePath(options_.home));
    } catch (const std::bad_alloc&) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       fmt::format("{}: not enough memory for it", DatabasePath(options_.home)));
    } catch (const std::exception& error) {
      return MakeError(absl::StatusCode::kInternal,
                       fmt::format("{}: {}", DatabasePath(options_.home), error.what()));
    }
  }

  template <typename T, typename F>
  absl::StatusOr<T> Read(const F& read) {
    NF_ASSIGN_OR_RETURN(Reader reader, readers_.Borrow());
    absl::StatusOr<T> answer = Guarded<T>([&] { return read(reader.database()); });
    if constexpr (std::is_base_of_v<google::protobuf::Message, T>) {
      if (answer.ok()) NF_RETURN_IF_ERROR(CheckReadable(*answer));
    }
    return answer;
  }

  // A text that is no UTF-8 would reach nobody: whoever asks cannot parse the answer. All that was
  // kept was UTF-8.
  template <typename T>
  absl::Status CheckReadable(const T& answer) const {
    const google::protobuf::LogSilencer quiet;  // It is said below.
    google::protobuf::Arena arena;              // It has many parts, and all of them go at once.
    T& parsed = *google::protobuf::Arena::CreateMessage<T>(&arena);
    if (parsed.ParseFromString(answer.SerializeAsString())) return absl::OkStatus();
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("{}: holds text that is not UTF-8; the file is damaged: put a "
                                 "backup in its place",
                                 DatabasePath(options_.home)));
  }

  absl::StatusOr<StudyPointer> StudyOf(uint64_t asked) ABSL_LOCKS_EXCLUDED(mutex_);
  StudyPointer Remembered(const std::string& state) ABSL_LOCKS_EXCLUDED(mutex_);

  const QueryOptions options_;
  const BlobStore blobs_;
  ReaderPool readers_;
  SummaryCache summaries_;
  Mutex mutex_;
  std::string remembered_state_ ABSL_GUARDED_BY(mutex_);
  StudyPointer remembered_ ABSL_GUARDED_BY(mutex_);  // The last one: forms of it come in a row.
  // Last, so that their threads end before what they use.
  WorkQueue studies_;
  WorkQueue watches_;
  WorkQueue reads_;
};

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
                        NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, asked));
                        NF_RETURN_IF_ERROR(CheckIsStudy(database, sweep));
                        state = StateOf(database, sweep);
                        known = Remembered(state);
                        if (known != nullptr) return StudyRows{};
                        return ReadStudyRows(database, sweep);
                      }));
  if (known != nullptr) return known;
  NF_ASSIGN_OR_RETURN(known, Guarded<StudyPointer>([&] {
                        rows.input.sweep.noisefloor_version = options_.version;
                        LoadedStudy loaded = LoadStudy(std::move(rows), blobs_);
                        report::Study study = report::BuildStudy(loaded.input);
                        study.warnings.insert(study.warnings.begin(), loaded.warnings.begin(),
                                              loaded.warnings.end());
                        return std::make_shared<const report::Study>(std::move(study));
                      }));
  MutexLock lock(mutex_);
  remembered_state_ = state;
  remembered_ = known;
  return known;
}

absl::StatusOr<std::string> StoreQuery::GetStudy(const v1::GetStudyRequest& request) {
  NF_ASSIGN_OR_RETURN(const StudyPointer study, StudyOf(request.sweep_id()));
  switch (request.form()) {
    case v1::GetStudyRequest::FORM_JSON: return report::StudyToJson(*study);
    case v1::GetStudyRequest::FORM_TABLES:
      return report::RenderTables(
          *study, {.colour = request.colour() ? report::Colour::kOn : report::Colour::kOff,
                   .columns = request.columns()});
    case v1::GetStudyRequest::FORM_CSV: return report::StudyToCsv(*study);
    case v1::GetStudyRequest::FORM_PAGE:
      if (options_.page_script.empty()) {
        return MakeError(absl::StatusCode::kFailedPrecondition,
                         "this program was built without the report page; ask for the tables, "
                         "JSON or CSV");
      }
      return report::RenderPage(study->title, report::StudyToJson(*study), options_.page_script,
                                options_.page_style);
    default: return InvalidInput("form: expected JSON, TABLES, CSV or PAGE");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Query>> Query::Open(QueryOptions options) {
  NF_ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(options.home));
  NF_RETURN_IF_ERROR(OpenForReading(DatabasePath(options.home)).status());
  return std::unique_ptr<Query>(new StoreQuery(std::move(options), std::move(blobs)));
}

}  // namespace noisefloor::query
