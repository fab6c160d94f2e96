#include "tests/integration/fleet.h"

#include <signal.h>

#include <filesystem>

#include "fmt/format.h"
#include "grpcpp/grpcpp.h"

#include "common/base/clock.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor::test {

namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);

// The coordinator is away while it is restarted: such calls are made again.
bool IsAway(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kCancelled;
}

}  // namespace

absl::StatusOr<Fleet> Fleet::Start(FleetSettings settings) {
  // As workers mark their processes: by another name of the folder none would be found.
  settings.folder = std::filesystem::canonical(settings.folder).string();
  Fleet fleet(std::move(settings));
  NF_RETURN_IF_ERROR(fleet.StartCoordinator());
  for (int i = 0; i < fleet.settings_.workers; ++i) NF_RETURN_IF_ERROR(fleet.StartWorker(i));
  NF_RETURN_IF_ERROR(fleet.WaitForWorkers());
  return fleet;
}

std::string Fleet::StateOf(int worker) const {
  return fmt::format("{}/state-{}", settings_.folder, worker);
}

std::string Fleet::Logs() const {
  std::string text = "--- coordinator:\n" + EndOfFile(settings_.folder + "/coordinator.log", 4000);
  for (int i = 0; i < settings_.workers; ++i) {
    text += fmt::format("--- worker {}:\n{}", i,
                        EndOfFile(fmt::format("{}/worker-{}.log", settings_.folder, i), 4000));
  }
  return text;
}

absl::Status Fleet::StartCoordinator() {
  NF_ASSIGN_OR_RETURN(Process process, Process::Start({settings_.program, "serve",
                                                       "--home=" + home(), "--listen=" + address_},
                                                      settings_.folder + "/coordinator.log"));
  const auto line = process.ReadLine(kPatience);
  if (!line.ok()) return Annotate(line.status(), "the coordinator's address: " + Logs());
  const std::string before = " listens on ";
  const size_t begin = line->find(before);
  const size_t end = line->find(", data in ");
  if (begin == std::string::npos || end == std::string::npos) {
    return InvalidInput("expected a line with the address, got " + *line);
  }
  address_ = line->substr(begin + before.size(), end - begin - before.size());
  coordinator_.emplace(std::move(process));
  if (stub_ != nullptr) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(address_));
  stub_ = v1::CoordinatorService::NewStub(MakeChannel(address));
  return absl::OkStatus();
}

absl::Status Fleet::StartWorker(int worker) {
  std::vector<std::string> arguments = {settings_.worker,
                                        "--coordinator=" + address_,
                                        fmt::format("--name=box-{}", worker),
                                        "--state=" + StateOf(worker),
                                        "--slots=1",
                                        "--grace=1"};
  arguments.insert(arguments.end(), settings_.worker_arguments.begin(),
                   settings_.worker_arguments.end());
  NF_ASSIGN_OR_RETURN(Process process,
                      Process::Start(std::move(arguments),
                                     fmt::format("{}/worker-{}.log", settings_.folder, worker)));
  workers_.insert_or_assign(worker, std::move(process));
  return absl::OkStatus();
}

absl::Status Fleet::WaitForWorkers() {
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (SystemClock().Steady() < give_up) {
    NF_ASSIGN_OR_RETURN(const auto answer, Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
    int connected = 0;
    for (const v1::WorkerSummary& worker : answer.workers()) connected += worker.connected();
    if (connected == settings_.workers) return absl::OkStatus();
    for (auto& [number, process] : workers_) {
      // Also the pause between two looks.
      if (!process.Wait(absl::Milliseconds(20)).ok()) continue;
      return MakeError(absl::StatusCode::kInternal,
                       fmt::format("worker {} has ended: {}", number, Logs()));
    }
  }
  return MakeError(absl::StatusCode::kDeadlineExceeded, "workers have not registered: " + Logs());
}

absl::Status Fleet::KillCoordinator() {
  coordinator_->Signal(SIGKILL);
  NF_ASSIGN_OR_RETURN(const int end, coordinator_->Wait(kPatience));
  if (end != -SIGKILL) {
    return MakeError(absl::StatusCode::kInternal,
                     fmt::format("the coordinator had ended with {}: {}", end, Logs()));
  }
  return StartCoordinator();
}

absl::Status Fleet::KillWorker(int worker) {
  Process& process = workers_.at(worker);
  process.Signal(SIGKILL);
  NF_ASSIGN_OR_RETURN(const int end, process.Wait(kPatience));
  if (end != -SIGKILL) {
    return MakeError(absl::StatusCode::kInternal,
                     fmt::format("worker {} had ended with {}: {}", worker, end, Logs()));
  }
  return StartWorker(worker);
}

bool Fleet::KillTrainer(int worker, std::mt19937_64& random) {
  const std::vector<int> trainers = FindLeftovers(StateOf(worker));
  if (trainers.empty()) return false;
  return SignalMarked(StateOf(worker), trainers[random() % trainers.size()], SIGKILL);
}

absl::Status Fleet::Stop() {
  for (auto& [number, worker] : workers_) worker.Signal(SIGTERM);
  for (auto& [number, worker] : workers_) {
    NF_ASSIGN_OR_RETURN(const int code, worker.Wait(kPatience));
    if (code != 0) return MakeError(absl::StatusCode::kInternal, fmt::format("worker: {}", code));
  }
  coordinator_->Signal(SIGTERM);
  NF_ASSIGN_OR_RETURN(const int code, coordinator_->Wait(kPatience));
  if (code == 0) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal, fmt::format("coordinator: {}", code));
}

template <typename Request, typename Response>
absl::StatusOr<Response> Fleet::Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                                     const Request& request) {
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    SetDeadline(context, kPatience);
    Response response;
    const absl::Status status = FromGrpc((stub_.get()->*method)(&context, request, &response));
    if (status.ok()) return response;
    if (!IsAway(status) || SystemClock().Steady() >= give_up) return status;
  }
}

absl::StatusOr<uint64_t> Fleet::Submit(const v1::Sweep& sweep, const std::string& request_id) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = sweep;
  request.set_request_id(request_id);
  NF_ASSIGN_OR_RETURN(const auto answer, Call(&Stub::SubmitSweep, request));
  return answer.sweep_id();
}

absl::StatusOr<v1::WorkerSummary> Fleet::AWorker() {
  NF_ASSIGN_OR_RETURN(const auto answer, Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
  for (const v1::WorkerSummary& worker : answer.workers()) {
    if (worker.connected()) return worker;
  }
  return MakeError(absl::StatusCode::kNotFound, "no worker is connected");
}

absl::StatusOr<std::string> Fleet::Explain(const std::string& member) {
  v1::ExplainMemberRequest request;
  request.set_member(member);
  NF_ASSIGN_OR_RETURN(const auto answer, Call(&Stub::ExplainMember, request));
  return answer.text();
}

absl::StatusOr<std::vector<v1::Member>> Fleet::Members(uint64_t sweep) {
  v1::ListMembersRequest request;
  request.set_sweep_id(sweep);
  request.set_page_size(1000);
  NF_ASSIGN_OR_RETURN(const auto list, Call(&Stub::ListMembers, request));
  std::vector<v1::Member> members;
  for (const v1::Member& listed : list.members()) {
    v1::GetMemberRequest one;
    one.set_member(listed.id());
    NF_ASSIGN_OR_RETURN(const auto whole, Call(&Stub::GetMember, one));
    members.push_back(whole.member());
  }
  return members;
}

absl::Status Fleet::Take(const v1::WatchSweepResponse& news) {
  if (news.resume_token() < token_) {
    return MakeError(absl::StatusCode::kInternal, fmt::format("the resume token went from {} to {}",
                                                              token_, news.resume_token()));
  }
  token_ = news.resume_token();
  if (first_token_ == 0) first_token_ = token_;
  lines_.insert(lines_.end(), news.lines().begin(), news.lines().end());
  events_.insert(events_.end(), news.events().begin(), news.events().end());
  return absl::OkStatus();
}

absl::Status Fleet::WatchUntil(uint64_t sweep,
                               const std::function<bool(const v1::SweepSummary&)>& until) {
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(sweep);
    request.set_resume_token(token_);
    const auto reader = stub_->WatchSweep(&context, request);
    v1::WatchSweepResponse news;
    while (reader->Read(&news)) {
      NF_RETURN_IF_ERROR(Take(news));
      if (!until(news.sweep())) continue;
      context.TryCancel();
      (void)reader->Finish();
      return absl::OkStatus();
    }
    const absl::Status status = FromGrpc(reader->Finish());
    if (status.ok()) return status;
    if (!IsAway(status) || SystemClock().Steady() >= give_up) return Annotate(status, Logs());
  }
}

}  // namespace noisefloor::test
