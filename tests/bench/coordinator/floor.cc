#include "tests/bench/coordinator/floor.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"
#include "SQLiteCpp/Transaction.h"

#include "common/base/mailbox.h"
#include "common/rpc/server.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "tests/bench/coordinator/figures.h"
#include "tests/bench/coordinator/target.h"

namespace noisefloor::bench {

namespace {

using Json = nlohmann::json;

class FloorSession;

struct FromWorker {
  FloorSession* session = nullptr;
  v1::SessionRequest message;
};
struct Gone {
  FloorSession* session = nullptr;
};
struct Submitted {
  uint32_t members = 0;
  std::function<void()> done;
};
using Item = std::variant<FromWorker, Gone, Submitted>;
using Inbox = Mailbox<Item>;

// One stream; deletes itself when Gone was dealt with.
class FloorSession final : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  explicit FloorSession(Inbox& inbox) : inbox_(inbox) { StartRead(&inbound_); }

  // The loop's.
  uint32_t free_slots = 0;

  void Send(v1::SessionResponse message) {
    MutexLock lock(mutex_);
    outbox_.push_back(std::move(message));
    Write();
  }

 private:
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || outbox_.empty() || ended_) return;
    writing_ = true;
    grpc::WriteOptions options;
    if (outbox_.size() > 1) options.set_buffer_hint();
    StartWrite(&outbox_.front(), options);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        MutexLock lock(mutex_);
        ended_ = true;
      }
      return Finish(grpc::Status::OK);
    }
    (void)inbox_.Post(FromWorker{this, std::exchange(inbound_, {})});
    StartRead(&inbound_);
  }
  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    outbox_.pop_front();
    writing_ = false;
    ended_ = ended_ || !ok;
    Write();
  }
  void OnDone() override {
    if (!inbox_.Post(Gone{this})) delete this;
  }

  Inbox& inbox_;
  v1::SessionRequest inbound_;
  Mutex mutex_;
  std::deque<v1::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class FloorWorkers final : public v1::WorkerService::CallbackService {
 public:
  explicit FloorWorkers(Inbox& inbox) : inbox_(inbox) {}
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext*) override {
    return new FloorSession(inbox_);
  }

 private:
  Inbox& inbox_;
};

class FloorPeople final : public v1::CoordinatorService::CallbackService {
 public:
  explicit FloorPeople(Inbox& inbox) : inbox_(inbox) {}
  grpc::ServerUnaryReactor* SubmitSweep(grpc::CallbackServerContext* context,
                                        const v1::SubmitSweepRequest* request,
                                        v1::SubmitSweepResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    response->set_sweep_id(1);
    response->set_members(request->sweep().replicates());
    (void)inbox_.Post(
        Submitted{request->sweep().replicates(), [reactor] { reactor->Finish(grpc::Status::OK); }});
    return reactor;
  }
  grpc::ServerUnaryReactor* GetVersion(grpc::CallbackServerContext* context,
                                       const v1::GetVersionRequest*,
                                       v1::GetVersionResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  Inbox& inbox_;
};

constexpr const char* kTables =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;"
    "CREATE TABLE member (member INTEGER PRIMARY KEY, state TEXT, attempt INTEGER);"
    "CREATE TABLE lease (lease INTEGER PRIMARY KEY, member INTEGER, sha256 BLOB, at INTEGER,"
    " dropped INTEGER);"
    "CREATE TABLE event (event INTEGER PRIMARY KEY, member INTEGER, kind TEXT, text TEXT);"
    "CREATE TABLE ended (lease INTEGER PRIMARY KEY, outcome BLOB);"
    "CREATE TABLE sweep (sweep INTEGER PRIMARY KEY, members INTEGER);"
    "CREATE TABLE record (lease INTEGER, batch INTEGER, item INTEGER, step INTEGER, epoch REAL,"
    " metric INTEGER, value REAL, PRIMARY KEY (lease, batch, item)) WITHOUT ROWID;";

// Whether anything deserves it is not asked.
class Floor {
 public:
  Floor(const std::string& path, size_t members)
      : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE),
        tables_((database_.exec(kTables), 0)),
        set_member_(database_,
                    "INSERT INTO member VALUES (?1, ?2, 1) ON CONFLICT (member) DO UPDATE "
                    "SET state = ?2"),
        add_event_(database_, "INSERT INTO event (member, kind, text) VALUES (?, ?, ?)"),
        add_lease_(database_, "INSERT INTO lease VALUES (?, ?, ?, ?, NULL)"),
        drop_lease_(database_, "UPDATE lease SET dropped = ? WHERE lease = ?"),
        add_end_(database_, "INSERT INTO ended VALUES (?, ?)"),
        add_record_(database_, "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)"),
        add_sweep_(database_, "INSERT INTO sweep (members) VALUES (?)"),
        waiting_(members) {}

  void Run(Inbox& inbox) {
    while (true) {
      std::vector<Item> items = inbox.TakeAll(absl::Seconds(1));
      if (items.empty()) {
        if (inbox.closed()) return;
        continue;
      }
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      for (Item& item : items) std::visit([this](auto& it) { Take(it); }, item);
      GiveOut();
      transaction.commit();
      ++commits_;
      for (auto& [session, message] : std::exchange(sends_, {})) session->Send(std::move(message));
      for (const auto& done : std::exchange(done_, {})) done();
    }
  }
  size_t commits() const { return commits_; }

 private:
  template <typename... Values>
  static void Keep(SQLite::Statement& statement, const Values&... values) {
    int i = 0;
    (statement.bind(++i, values), ...);
    statement.exec();
    statement.reset();
  }
  v1::SessionResponse& Tell(FloorSession* session) {
    return sends_.emplace_back(session, v1::SessionResponse()).second;
  }
  void Take(FromWorker& from) {
    const v1::SessionRequest& message = from.message;
    if (message.has_started()) {
      Keep(add_event_, static_cast<int64_t>(message.started().lease_id()), "started",
           "w0 started attempt 1");
    } else if (message.has_register_()) {
      from.session->free_slots =
          static_cast<uint32_t>(message.register_().inventory().slots_size());
      sessions_.insert(from.session);
      Tell(from.session).mutable_welcome()->set_heartbeat_interval_ms(3000);
    } else if (message.has_records()) {
      KeepRecords(message.records());
      v1::RecordsKept& kept = *Tell(from.session).mutable_kept();
      kept.set_lease_id(message.records().lease_id());
      kept.set_sequence(message.records().batch().sequence());
    } else if (message.has_finished()) {
      const std::string bytes = message.finished().outcome().SerializeAsString();
      const auto lease = static_cast<int64_t>(message.finished().lease_id());
      add_end_.bind(2, bytes.data(), static_cast<int>(bytes.size()));
      add_end_.bind(1, lease);
      add_end_.exec();
      add_end_.reset();
      Keep(drop_lease_, lease, lease);
      Note(lease, "done", "w0 finished attempt 1");
      v1::Settled& settled = *Tell(from.session).mutable_settled();
      settled.set_lease_id(message.finished().lease_id());
      settled.set_accepted(true);
      ++from.session->free_slots;
      sessions_.insert(from.session);
    }
  }
  void Note(int64_t member, const char* kind, const char* text) {
    Keep(set_member_, member, kind);
    Keep(add_event_, member, kind, text);
  }
  void Take(Gone& gone) {
    sessions_.erase(gone.session);
    std::erase_if(sends_, [&](const auto& send) { return send.first == gone.session; });
    delete gone.session;
  }
  void Take(Submitted& submitted) {
    Keep(add_sweep_, static_cast<int64_t>(submitted.members));
    waiting_ += submitted.members;
    done_.push_back(std::move(submitted.done));
  }
  void KeepRecords(const v1::AttemptRecords& records) {
    const v1::RecordBatch& batch = records.batch();
    for (int i = 0; i < batch.value_size(); ++i) {
      Keep(add_record_, static_cast<int64_t>(records.lease_id()),
           static_cast<int64_t>(batch.sequence()), i, batch.step(i), batch.epoch(i),
           static_cast<int64_t>(batch.metric(i)), batch.value(i));
    }
  }
  // To whoever has room; a text as long as a specification goes with it.
  void GiveOut() {
    static const std::string text(1700, 's');
    while (waiting_ > 0 && !sessions_.empty()) {
      FloorSession* session = *sessions_.begin();
      for (; session->free_slots > 0 && waiting_ > 0; --session->free_slots, --waiting_) {
        v1::StartMember& start = *Tell(session).mutable_start();
        start.set_lease_id(static_cast<uint64_t>(++last_lease_));
        start.set_member("s1c0r0");
        start.set_specification(text);
        start.set_specification_sha256(text.substr(0, 64));
        Keep(add_lease_, last_lease_, last_lease_, start.specification_sha256(), last_lease_);
        Note(last_lease_, "leased", "w0 got attempt 1");
      }
      if (session->free_slots == 0) sessions_.erase(session);
    }
  }

  SQLite::Database database_;
  const int tables_;
  SQLite::Statement set_member_, add_event_, add_lease_, drop_lease_, add_end_, add_record_,
      add_sweep_;
  size_t waiting_;
  int64_t last_lease_ = 0;
  size_t commits_ = 0;
  std::set<FloorSession*> sessions_;  // With free slots.
  std::vector<std::pair<FloorSession*, v1::SessionResponse>> sends_;
  std::vector<std::function<void()>> done_;
};

constexpr size_t kStepBytes = 8 << 20;

void WriteBeside(const std::string& path, size_t mebibytes, double& seconds) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const std::string piece(1 << 20, 'x');
  const double begin = Seconds();
  for (size_t i = 1; i <= mebibytes; ++i) {
    if (write(file, piece.data(), piece.size()) < 0) break;
    if ((i << 20) % kStepBytes == 0) (void)fdatasync(file);
  }
  (void)fdatasync(file);
  seconds = Seconds() - begin;
  close(file);
  unlink(path.c_str());
}

}  // namespace

Json ServeFloor(const std::string& folder, size_t members) {
  Inbox inbox(100000);
  Floor floor(folder + "/floor.db", members);
  FloorWorkers workers(inbox);
  FloorPeople people(inbox);
  auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&workers, &people});
  MustBe(server.status());
  std::thread loop([&] { floor.Run(inbox); });
  std::cout << Json{{"address", ToText((*server)->address())}} << std::endl;
  for (std::string line; std::getline(std::cin, line);) continue;
  (*server)->Shutdown(absl::ZeroDuration());
  inbox.Close();
  loop.join();
  return {{"commits", floor.commits()}};
}

Json MeasureDisk(const std::string& folder, double seconds, size_t mebibytes) {
  double writing = 0;
  std::atomic<bool> written{false};
  std::thread beside([&] {
    if (mebibytes > 0) WriteBeside(folder + "/beside", mebibytes, writing);
    written = true;
  });
  const std::string path = folder + "/disk";
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  Samples took;
  const double end = Seconds() + seconds;
  while (mebibytes > 0 ? !written.load() : Seconds() < end) {
    const double begin = Seconds();
    if (write(file, block.data(), block.size()) < 0 || fdatasync(file) != 0) break;
    took.Add(Seconds() - begin);
  }
  close(file);
  unlink(path.c_str());
  beside.join();
  return {{"syncs", took.size()},
          {"sync_p50_ms", took.Quantile(0.5) * 1e3},
          {"sync_p99_ms", took.Quantile(0.99) * 1e3},
          {"sync_worst_ms", took.Quantile(1) * 1e3},
          {"mib_beside", mebibytes},
          {"mb_per_s", writing > 0 ? static_cast<double>(mebibytes << 20) / 1e6 / writing : 0}};
}

}  // namespace noisefloor::bench
