#include "tests/crash/life.h"

#include <algorithm>
#include <functional>

#include "common/trainer_protocol/datasets.h"
#include "coordinator/store/blob_store.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/crash/home_checker.h"

namespace noisefloor::test {

namespace {

constexpr uint64_t kBatches = 2;
// More than a full disk is tried again after; a worker that hears nothing connects again.
constexpr absl::Duration kPatienceOfASession = absl::Seconds(30);
// Two syncs of a file that is being written (common/files/atomic_file.cc), and a rest.
constexpr size_t kLargeBytes = 2 * (size_t{8} << 20) + 1000;
// Updates with notes of this size fill the write-ahead log to its automatic checkpoint.
constexpr int kUpdatesToACheckpoint = 1000;
constexpr size_t kLongNotes = 9000;
constexpr std::string_view kWeights = "weights that nobody here reads";
constexpr char kOurClass[] = "cpu-amd-avx2";  // Of RegisterAs.
constexpr char kNobodysClass[] = "cpu-amd-sse";

// Of the data set that a sweep has which names none.
std::string DataIdentity() { return std::string(FindDataset("fashion-mnist-sample")->identity); }

absl::Status Gone(const std::string& what) {
  return MakeError(absl::StatusCode::kUnavailable, what + ": the session has ended");
}

}  // namespace

struct Life::Step {
  const char* name;
  std::function<absl::Status(Life&)> run;
};

const std::vector<Life::Step>& Life::All() {
  const auto train = [](const char* member, Stage until) {
    return [member, until](Life& life) { return life.Train(member, until); };
  };
  static const std::vector<Step> steps = {
      {"SubmitSweep", [](Life& life) { return life.Submit("first", kOurClass, 2); }},
      {"SubmitSweep of another",
       [](Life& life) { return life.Submit("second", kNobodysClass, 1); }},
      {"Register", [](Life& life) { return life.Connect(); }},
      {"lease", train("s1c0r0", Stage::kLeased)},
      {"AttemptStarted, Heartbeat", train("s1c0r0", Stage::kStarted)},
      {"AttemptRecords", train("s1c0r0", Stage::kRecords)},
      {"Upload", train("s1c0r0", Stage::kUploaded)},
      {"AttemptFinished", train("s1c0r0", Stage::kSettled)},
      {"CancelSweep", [](Life& life) { return life.CancelSecond(); }},
      {"RetrySweep", [](Life& life) { return life.Retry(); }},
      {"UpdateSweep", [](Life& life) { return life.Update(); }},
      {"ExtendSweep", [](Life& life) { return life.Extend(); }},
      {"ReplayMember", [](Life& life) { return life.Replay(); }},
      {"the next member", train("s1c0r1", Stage::kSettled)},
      {"the replay", train("s3c0r0", Stage::kSettled)},
      {"UpdateWorker", [](Life& life) { return life.Quarantine(); }},
      {"UpdateShare", [](Life& life) { return life.Share(); }},
      {"DeleteSweep", [](Life& life) { return life.Delete(); }},
      {"AddToken", [](Life& life) { return life.AddToken(); }},
      {"RevokeTokens", [](Life& life) { return life.RevokeTokens(); }},
      {"PutWeights", [](Life& life) { return life.PutWeights(); }},
      {"InferMembers", [](Life& life) { return life.Infer(); }},
      {"Draining", [](Life& life) { return life.Drain(); }},
      {kCheckpoint, [](Life& life) { return life.FillTheLog(); }}};
  return steps;
}

size_t Life::Steps() { return All().size(); }
std::string Life::NameOf(size_t step) { return All().at(step).name; }
absl::Status Life::Do(size_t step) { return All().at(step).run(*this); }

Life::~Life() { (void)Drop(); }

absl::Status Life::Submit(const std::string& request, const std::string& hardware,
                          uint32_t replicates) {
  v1::SubmitSweepRequest wanted;
  wanted.set_request_id(request);
  wanted.mutable_sweep()->set_name(request);
  wanted.mutable_sweep()->add_noise()->set_name("control");
  wanted.mutable_sweep()->mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
  wanted.mutable_sweep()->mutable_hardware()->add_classes(hardware);
  wanted.mutable_sweep()->set_replicates(replicates);
  wanted.mutable_sweep()->set_blocks(1);
  NF_ASSIGN_OR_RETURN(const auto answer, Ask(coordinator_.people(),
                                             &v1::CoordinatorService::Stub::SubmitSweep, wanted));
  sweeps_[request] = answer.sweep_id();
  return absl::OkStatus();
}

absl::Status Life::Cancel(uint64_t sweep) {
  v1::CancelSweepRequest request;
  request.set_sweep_id(sweep);
  return Ask(coordinator_.people(), &v1::CoordinatorService::Stub::CancelSweep, request).status();
}

absl::Status Life::CancelSecond() {
  NF_RETURN_IF_ERROR(Cancel(2));
  second_sweep_ = "cancelled";
  return absl::OkStatus();
}

absl::Status Life::Retry() {
  second_sweep_.clear();  // Until it answers, either will do.
  v1::RetrySweepRequest request;
  request.set_sweep_id(2);
  NF_RETURN_IF_ERROR(
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::RetrySweep, request).status());
  second_sweep_ = "waiting";
  return absl::OkStatus();
}

absl::Status Life::Update() {
  v1::UpdateSweepRequest request;
  request.set_sweep_id(2);
  request.set_priority(7);
  request.set_max_failures(3);
  request.set_notes("kept");
  NF_RETURN_IF_ERROR(
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::UpdateSweep, request).status());
  updated_ = true;
  notes_ = "kept";
  return absl::OkStatus();
}

absl::Status Life::FillTheLog() {
  while (filled_ < kUpdatesToACheckpoint) {
    std::string notes = std::to_string(filled_) + " ";
    notes.resize(kLongNotes, 'n');
    v1::UpdateSweepRequest request;
    request.set_sweep_id(2);
    request.set_notes(notes);
    notes_.clear();  // Until it answers, either will do.
    NF_RETURN_IF_ERROR(
        Ask(coordinator_.people(), &v1::CoordinatorService::Stub::UpdateSweep, request).status());
    notes_ = std::move(notes);
    ++filled_;
  }
  return absl::OkStatus();
}

absl::Status Life::Extend() {
  v1::ExtendSweepRequest request;
  request.set_sweep_id(2);
  request.set_replicates(3);
  request.set_blocks(2);
  NF_RETURN_IF_ERROR(
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::ExtendSweep, request).status());
  extended_ = true;
  return absl::OkStatus();
}

absl::Status Life::Quarantine() {
  v1::UpdateWorkerRequest request;
  request.set_worker("box");
  request.set_unit("host-box");
  request.set_quarantined(true);
  NF_RETURN_IF_ERROR(
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::UpdateWorker, request).status());
  quarantined_ = true;
  return absl::OkStatus();
}

absl::Status Life::Share() {
  v1::UpdateShareRequest request;
  request.set_owner("ada");
  request.set_weight(3);
  NF_RETURN_IF_ERROR(
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::UpdateShare, request).status());
  shared_ = true;
  return absl::OkStatus();
}

// Of a sweep that comes and ends for it.
absl::Status Life::Delete() {
  if (to_delete_ == 0) {
    NF_RETURN_IF_ERROR(Submit("third", kNobodysClass, 1));
    NF_RETURN_IF_ERROR(Cancel(sweeps_.at("third")));
    to_delete_ = sweeps_.at("third");
    sweeps_.erase("third");  // Until it answers, either will do.
  }
  v1::DeleteSweepRequest request;
  request.set_sweep_id(to_delete_);
  const absl::Status deleted =
      Ask(coordinator_.people(), &v1::CoordinatorService::Stub::DeleteSweep, request).status();
  // It may be gone already, though nobody said so.
  if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
  deleted_ = true;
  return absl::OkStatus();
}

absl::Status Life::AddToken() {
  v1::AddTokenRequest request;
  request.set_identity("ada");
  request.set_role(v1::ROLE_READER);
  NF_ASSIGN_OR_RETURN(const auto answer,
                      Ask(coordinator_.tokens(), &v1::AccessService::Stub::AddToken, request));
  token_ = answer.summary().number();
  return absl::OkStatus();
}

absl::Status Life::RevokeTokens() {
  token_ = 0;  // Until it answers, either will do.
  v1::RevokeTokensRequest request;
  request.set_identity("ada");
  const absl::Status revoked =
      Ask(coordinator_.tokens(), &v1::AccessService::Stub::RevokeTokens, request).status();
  // They may be revoked already, though nobody said so.
  if (!revoked.ok() && !absl::IsNotFound(revoked)) return revoked;
  revoked_ = true;
  return absl::OkStatus();
}

absl::Status Life::Replay() {
  v1::ReplayMemberRequest request;
  request.set_member("s1c0r0");
  request.set_request_id("replay");
  NF_ASSIGN_OR_RETURN(const auto answer, Ask(coordinator_.people(),
                                             &v1::CoordinatorService::Stub::ReplayMember, request));
  sweeps_["replay"] = answer.sweep_id();
  return absl::OkStatus();
}

absl::Status Life::PutWeights() {
  grpc::ClientContext context;
  SetDeadline(context, kPatienceOfASession);
  v1::PutWeightsResponse response;
  const auto writer = coordinator_.people().PutWeights(&context, &response);
  v1::PutWeightsRequest request;
  request.mutable_header()->set_sha256(Sha256Hex(kWeights));
  request.mutable_header()->set_size(kWeights.size());
  if (writer->Write(request)) {
    request.set_piece(std::string(kWeights));
    (void)writer->Write(request);  // Finish says what became of it.
  }
  writer->WritesDone();
  NF_RETURN_IF_ERROR(FromGrpc(writer->Finish()));
  uploaded_.emplace(kWeights);
  return absl::OkStatus();
}

// On a class that nobody has: they wait.
absl::Status Life::Infer() {
  v1::InferMembersRequest request;
  request.set_sweep_id(sweeps_.at("first"));
  request.add_hardware_classes(kNobodysClass);
  request.mutable_weights()->set_sha256(Sha256Hex(kWeights));
  request.mutable_weights()->set_size(kWeights.size());
  request.mutable_weights()->set_name("theirs.safetensors");
  request.set_request_id("inference");
  NF_ASSIGN_OR_RETURN(const auto answer, Ask(coordinator_.people(),
                                             &v1::CoordinatorService::Stub::InferMembers, request));
  sweeps_["inference"] = answer.sweep_id();
  return absl::OkStatus();
}

absl::Status Life::Drop() {
  if (stream_ == nullptr) return absl::OkStatus();
  context_->TryCancel();
  const absl::Status status = FromGrpc(stream_->Finish());
  stream_.reset();
  return status;
}

absl::Status Life::Connect() {
  if (stream_ != nullptr) return absl::OkStatus();
  context_ = std::make_unique<grpc::ClientContext>();
  SetDeadline(*context_, kPatienceOfASession);
  stream_ = coordinator_.workers().Session(context_.get());
  v1::SessionRequest hello = RegisterAs("box", 7);
  if (work_) {
    v1::HeldLease& held = *hello.mutable_register_()->add_held();
    held.set_lease_id(work_->lease);
    held.set_sequence(work_->kept);
  }
  welcome_ = false;
  NF_RETURN_IF_ERROR(Send(hello));
  while (!welcome_) NF_RETURN_IF_ERROR(TakeOne());
  return absl::OkStatus();
}

absl::Status Life::Send(const v1::SessionRequest& message) {
  if (stream_ != nullptr && stream_->Write(message)) return absl::OkStatus();
  const absl::Status why = Drop();
  return why.ok() ? Gone("send") : why;
}

absl::Status Life::TakeOne() {
  v1::SessionResponse message;
  if (stream_ == nullptr) return Gone("read");
  if (!stream_->Read(&message)) {
    const absl::Status why = Drop();
    return why.ok() ? Gone("read") : why;
  }
  welcome_ = welcome_ || message.has_welcome();
  if (message.has_start()) Take(message.start());
  if (!work_) return absl::OkStatus();
  if (message.has_kept() && message.kept().lease_id() == work_->lease) {
    work_->kept = std::max(work_->kept, message.kept().sequence());
    kept_[work_->lease] = work_->kept;
  }
  if (message.has_settled() && message.settled().lease_id() == work_->lease) {
    if (message.settled().accepted()) settled_.insert(work_->member);
    work_.reset();
  } else if (message.has_stop() && message.stop().lease_id() == work_->lease) {
    work_.reset();
  }
  return absl::OkStatus();
}

void Life::Take(const v1::StartMember& start) {
  const auto [known, is_new] = leases_.try_emplace(start.lease_id(), start.member());
  if (!is_new && known->second != start.member()) {
    broken_.push_back("lease " + std::to_string(start.lease_id()) + " was of " + known->second +
                      " and is of " + start.member());
  }
  if (is_new && start.lease_id() != leases_.rbegin()->first) {
    broken_.push_back("lease " + std::to_string(start.lease_id()) + " came after a higher one");
  }
  if (!work_) work_ = Work{start.lease_id(), start.member()};
}

// From wherever it stands: an attempt that is lost is begun anew.
absl::Status Life::Train(const std::string& member, Stage until) {
  while (!settled_.contains(member)) {
    NF_RETURN_IF_ERROR(Connect());
    while (!work_) NF_RETURN_IF_ERROR(TakeOne());
    if (work_->member != member) {
      return MakeError(absl::StatusCode::kInternal, "got " + work_->member + " for " + member);
    }
    if (until == Stage::kLeased) return absl::OkStatus();
    v1::SessionRequest started;
    started.mutable_started()->set_lease_id(work_->lease);
    started.mutable_started()->set_data_identity(DataIdentity());
    NF_RETURN_IF_ERROR(Send(started));
    v1::SessionRequest heartbeat;
    heartbeat.mutable_heartbeat()->add_held()->set_lease_id(work_->lease);
    NF_RETURN_IF_ERROR(Send(heartbeat));
    if (until == Stage::kStarted) return absl::OkStatus();
    NF_RETURN_IF_ERROR(SendRecords());
    if (until == Stage::kRecords && work_) return absl::OkStatus();
    if (work_) NF_RETURN_IF_ERROR(Upload());
    if (until == Stage::kUploaded && work_) return absl::OkStatus();
    if (work_) NF_RETURN_IF_ERROR(Finish());
  }
  return absl::OkStatus();
}

absl::Status Life::SendRecords() {
  while (work_ && work_->kept < kBatches) {
    v1::SessionRequest request;
    request.mutable_records()->set_lease_id(work_->lease);
    v1::RecordBatch& batch = *request.mutable_records()->mutable_batch();
    const uint64_t before = work_->kept;
    batch.set_sequence(before + 1);
    batch.add_metric_names("loss");
    batch.add_step(static_cast<int64_t>(before + 1));
    batch.add_epoch(0.5);
    batch.add_metric(0);
    batch.add_value(0.25);
    NF_RETURN_IF_ERROR(Send(request));
    while (work_ && work_->kept == before) NF_RETURN_IF_ERROR(TakeOne());
  }
  return absl::OkStatus();
}

std::string Life::Content() const {
  std::string content = "weights of " + work_->member;
  if (work_->member == "s1c0r0") content.resize(kLargeBytes, 'w');
  return content;
}

absl::Status Life::Upload() {
  const std::string content = Content();
  std::vector<v1::UploadRequest> parts = {
      UploadHeader(work_->lease, Sha256Hex(content), content.size())};
  for (size_t at = 0; at < content.size(); at += kPieceBytes) {
    parts.push_back(Piece(content.substr(at, kPieceBytes)));
  }
  const absl::Status sent = test::Upload(coordinator_.workers(), parts).status();
  // Its end may have been kept already, though nobody said so: it is told again.
  if (absl::IsFailedPrecondition(sent)) return absl::OkStatus();
  NF_RETURN_IF_ERROR(sent);
  uploaded_.insert(content);
  return absl::OkStatus();
}

absl::Status Life::Finish() {
  v1::SessionRequest finish = ScriptedWorker::Finish(work_->lease, kBatches, {Content()});
  v1::Outcome& outcome = *finish.mutable_finished()->mutable_outcome();
  outcome.set_data_identity(DataIdentity());
  (*outcome.mutable_hashes())["weights"] = Sha256Hex(Content());
  NF_RETURN_IF_ERROR(Send(finish));
  while (work_) NF_RETURN_IF_ERROR(TakeOne());
  return absl::OkStatus();
}

absl::Status Life::Drain() {
  NF_RETURN_IF_ERROR(Connect());
  v1::SessionRequest draining;
  draining.mutable_draining();
  NF_RETURN_IF_ERROR(Send(draining));
  stream_->WritesDone();
  v1::SessionResponse message;
  while (stream_->Read(&message)) {
  }
  const absl::Status status = FromGrpc(stream_->Finish());
  stream_.reset();
  return status;
}

std::vector<std::string> Life::Broken() const {
  std::vector<std::string> broken = broken_;
  const std::string home = coordinator_.home();
  const auto expect = [&](const std::string& what, const std::string& sql,
                          const std::string& wanted) {
    const auto rows = Rows(home, sql);
    const std::string got = rows.empty() ? "nothing" : rows[0];
    if (got != wanted) broken.push_back(what + ": promised " + wanted + ", there is " + got);
  };
  for (const auto& [request, sweep] : sweeps_) {
    expect("request " + request, "SELECT sweep FROM sweep WHERE request_id = '" + request + "'",
           std::to_string(sweep));
  }
  for (const auto& [lease, batches] : kept_) {
    expect("records of lease " + std::to_string(lease),
           "SELECT count(DISTINCT batch) >= " + std::to_string(batches) +
               " FROM record WHERE lease = " + std::to_string(lease),
           "1");
  }
  for (const std::string& member : settled_) {
    expect(member, "SELECT state FROM v_member WHERE member = '" + member + "'", "done");
  }
  if (!second_sweep_.empty()) {
    expect("the second sweep", "SELECT state FROM v_member WHERE sweep = 2", second_sweep_);
  }
  if (updated_) {
    expect("the update of the second sweep",
           "SELECT priority || ' ' || max_failures FROM sweep WHERE sweep = 2", "7 3");
  }
  if (!notes_.empty()) {
    expect("the notes of the second sweep", "SELECT notes FROM sweep WHERE sweep = 2", notes_);
  }
  if (extended_) {
    expect("the extension of the second sweep",
           "SELECT members || ' ' || waiting FROM v_sweep WHERE sweep = 2", "6 6");
  }
  if (shared_) expect("the share", "SELECT owner || ' ' || weight FROM share", "ada 3");
  if (deleted_) {
    expect("the deletion",
           "SELECT count(*) FROM v_sweep WHERE sweep = " + std::to_string(to_delete_), "0");
  }
  if (token_ != 0) {
    expect(
        "the token",
        "SELECT identity FROM token WHERE revoked_us IS NULL AND token = " + std::to_string(token_),
        "ada");
  }
  if (revoked_) {
    expect("the revocation",
           "SELECT count(*) FROM token WHERE revoked_us IS NULL AND identity = 'ada'", "0");
  }
  if (quarantined_) expect("the quarantine", "SELECT unit FROM quarantine", "host-box");
  const auto blobs = BlobStore::Open(home);
  for (const std::string& content : uploaded_) {
    const absl::Status there =
        blobs.ok() ? blobs->Verify({Sha256Hex(content), content.size()}) : blobs.status();
    if (!there.ok())
      broken.push_back("upload of " + content.substr(0, 20) + ": " + there.ToString());
  }
  return broken;
}

}  // namespace noisefloor::test
