// A coordinator for tests of commands: the real service's interface in process, with answers that
// the test sets. What it is not given answers for is Unimplemented.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/server_builder.h"

#include "coordinator/coordinator.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor::cli {

struct CannedAnswers {
  std::vector<v1::Member> members;
  int page_size = 2;                             // At most, whatever is asked for.
  std::map<std::string, std::string> artifacts;  // By "s1c0r0 weights".
  std::string study = "a study\n";
  std::string input;       // What it is made of; empty: it is a measurement's.
  bool has_page = true;    // As a program that was built with it.
  v1::SweepSummary sweep;  // The only one.
  std::string file = "name: a  # as submitted\n";
  std::string resolved_file = "name: \"a\"\n";
  std::vector<v1::WorkerSummary> workers;
  std::vector<v1::SweepSummary> sweeps;
  uint64_t replays = 0;  // The sweep that ReplayMember and InferMembers answer with.
  std::string explanation;
  std::string refusal;  // Of every request to change something.
  grpc::StatusCode refusal_code = grpc::StatusCode::FAILED_PRECONDITION;
  int refused_watches = 0;                  // The first ones find too many others,
  int broken_watches = 0;                   // and those after them end after their first message.
  uint64_t resume_token = 0;                // Of each message of a watch.
  std::function<void(uint64_t)> on_resume;  // Told from where each watch that begins goes on.
  std::function<void(const v1::CollectGarbageRequest&)> on_collect;  // Nothing goes.
  std::function<void(const std::string&)> on_again;  // Told the request ids of those two.
  std::function<void()> on_watch;  // Called when a watch begins, which then lasts until cancelled.
  // What each watch of a member tells; after it there are too many others, but after the last.
  std::vector<std::vector<v1::WatchMemberResponse>> member_watches;
};

class CannedCoordinator final : public Coordinator, private v1::CoordinatorService::Service {
 public:
  // `listens`: also on a free port of loopback.
  explicit CannedCoordinator(CannedAnswers answers, bool listens = false)
      : answers_(std::move(answers)) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    if (listens) {
      builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    }
    server_ = builder.BuildAndStart();
  }
  ~CannedCoordinator() override { Stop(); }

  std::string address() const override {
    return port_ == 0 ? "" : "127.0.0.1:" + std::to_string(port_);
  }
  std::shared_ptr<grpc::Channel> InProcessChannel() override {
    return server_->InProcessChannel({});
  }
  void Stop() override { server_->Shutdown(); }

 private:
  grpc::Status ListSweeps(grpc::ServerContext*, const v1::ListSweepsRequest*,
                          v1::ListSweepsResponse* response) override {
    response->mutable_sweeps()->Assign(answers_.sweeps.begin(), answers_.sweeps.end());
    return grpc::Status::OK;
  }

  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse* response) override {
    response->mutable_workers()->Assign(answers_.workers.begin(), answers_.workers.end());
    return grpc::Status::OK;
  }

  grpc::Status ExplainMember(grpc::ServerContext*, const v1::ExplainMemberRequest*,
                             v1::ExplainMemberResponse* response) override {
    response->set_text(answers_.explanation);
    return grpc::Status::OK;
  }

  grpc::Status ExplainSweep(grpc::ServerContext*, const v1::ExplainSweepRequest*,
                            v1::ExplainSweepResponse* response) override {
    response->set_text(answers_.explanation);
    return grpc::Status::OK;
  }

  grpc::Status ExplainWorker(grpc::ServerContext*, const v1::ExplainWorkerRequest* request,
                             v1::ExplainWorkerResponse*) override {
    return {grpc::StatusCode::NOT_FOUND, "there is no worker " + request->worker()};
  }

  grpc::Status InferMembers(grpc::ServerContext*, const v1::InferMembersRequest* request,
                            v1::InferMembersResponse* response) override {
    if (answers_.on_again) answers_.on_again(request->request_id());
    response->set_sweep_id(answers_.replays);
    response->set_members(1);
    return grpc::Status::OK;
  }

  grpc::Status ReplayMember(grpc::ServerContext*, const v1::ReplayMemberRequest* request,
                            v1::ReplayMemberResponse* response) override {
    if (answers_.on_again) answers_.on_again(request->request_id());
    if (answers_.replays == 0) return {answers_.refusal_code, answers_.refusal};
    response->set_sweep_id(answers_.replays);
    return grpc::Status::OK;
  }

  grpc::Status UpdateWorker(grpc::ServerContext*, const v1::UpdateWorkerRequest* request,
                            v1::UpdateWorkerResponse* response) override {
    response->mutable_worker()->set_name(request->worker());
    response->mutable_worker()->set_draining(request->draining());
    return grpc::Status::OK;
  }

  grpc::Status CancelSweep(grpc::ServerContext*, const v1::CancelSweepRequest*,
                           v1::CancelSweepResponse*) override {
    return {answers_.refusal_code, answers_.refusal};
  }

  grpc::Status RetrySweep(grpc::ServerContext*, const v1::RetrySweepRequest*,
                          v1::RetrySweepResponse*) override {
    return {answers_.refusal_code, answers_.refusal};
  }

  grpc::Status CollectGarbage(grpc::ServerContext*, const v1::CollectGarbageRequest* request,
                              v1::CollectGarbageResponse*) override {
    if (answers_.on_collect) answers_.on_collect(*request);
    return grpc::Status::OK;
  }

  grpc::Status GetSweep(grpc::ServerContext*, const v1::GetSweepRequest*,
                        v1::GetSweepResponse* response) override {
    *response->mutable_sweep() = answers_.sweep;
    response->set_file(answers_.file);
    response->set_resolved_file(answers_.resolved_file);
    return grpc::Status::OK;
  }

  grpc::Status WatchSweep(grpc::ServerContext*, const v1::WatchSweepRequest* request,
                          grpc::ServerWriter<v1::WatchSweepResponse>* writer) override {
    const int watch = watches_++;
    if (watch < answers_.refused_watches) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many reads are waiting at once"};
    }
    if (answers_.on_watch) answers_.on_watch();
    if (answers_.on_resume) answers_.on_resume(request->resume_token());
    v1::WatchSweepResponse news;
    *news.mutable_sweep() = answers_.sweep;
    news.set_resume_token(answers_.resume_token);
    const bool ended = answers_.sweep.waiting() == 0 && answers_.sweep.leased() == 0;
    while (writer->Write(news)) {
      if (watch < answers_.refused_watches + answers_.broken_watches) {
        return {grpc::StatusCode::RESOURCE_EXHAUSTED, "it ends here"};
      }
      if (ended) return grpc::Status::OK;
    }
    return grpc::Status::CANCELLED;
  }

  grpc::Status WatchMember(grpc::ServerContext*, const v1::WatchMemberRequest* request,
                           grpc::ServerWriter<v1::WatchMemberResponse>* writer) override {
    const size_t watch = member_watches_++;
    if (watch >= answers_.member_watches.size()) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    for (const v1::WatchMemberResponse& news : answers_.member_watches[watch]) {
      v1::WatchMemberResponse told = news;
      told.clear_values();
      for (const v1::RecordedValue& value : news.values()) {
        const bool later = value.step() > request->after_step();
        if (later || news.lease() != request->lease()) *told.add_values() = value;
      }
      writer->Write(told);
    }
    if (watch + 1 == answers_.member_watches.size()) return grpc::Status::OK;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many reads are waiting at once"};
  }

  grpc::Status ListMembers(grpc::ServerContext*, const v1::ListMembersRequest* request,
                           v1::ListMembersResponse* response) override {
    std::vector<v1::Member> chosen;
    for (const v1::Member& member : answers_.members) {
      const bool any = request->state() == v1::MEMBER_STATE_UNSPECIFIED;
      if (!any && member.state() != request->state()) continue;
      if (!IsAmong(member.state(), request->selection().states())) continue;
      if (!IsAmong(member.cell(), request->selection().cells())) continue;
      if (answers_.replays != 0 && member.sweep() != request->sweep_id()) continue;
      chosen.push_back(member);
      if (request->view() != v1::MEMBER_VIEW_FULL) MakeBasic(chosen.back());
    }
    const size_t begin = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    const size_t end = std::min(chosen.size(), begin + static_cast<size_t>(answers_.page_size));
    for (size_t i = begin; i < end; ++i) *response->add_members() = chosen[i];
    if (end < chosen.size()) response->set_next_page_token(std::to_string(end));
    return grpc::Status::OK;
  }

  // No choice is any.
  static bool IsAmong(const auto& one, const auto& chosen) {
    return chosen.empty() || std::ranges::find(chosen, one) != chosen.end();
  }

  // As the real one: without what MEMBER_VIEW_BASIC leaves out.
  static void MakeBasic(v1::Member& member) {
    member.clear_sources();
    member.clear_specification();
    if (!member.has_outcome()) return;
    v1::Outcome& outcome = *member.mutable_outcome();
    outcome.clear_data_identity();
    outcome.clear_environment();
    outcome.clear_hashes();
    outcome.clear_per_class_accuracy();
    outcome.clear_artifacts();
  }

  grpc::Status GetMember(grpc::ServerContext*, const v1::GetMemberRequest* request,
                         v1::GetMemberResponse* response) override {
    for (const v1::Member& member : answers_.members) {
      if (member.id() != request->member()) continue;
      *response->mutable_member() = member;
      response->add_history("attempt 1 on box");
      v1::Event& event = *response->add_events();
      event.set_kind(v1::EVENT_KIND_DONE);
      event.set_member(member.id());
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, request->member() + ": no such member"};
  }

  grpc::Status GetArtifact(grpc::ServerContext*, const v1::GetArtifactRequest* request,
                           grpc::ServerWriter<v1::GetArtifactResponse>* writer) override {
    const auto it = answers_.artifacts.find(request->member() + " " + request->kind());
    if (it == answers_.artifacts.end()) return {grpc::StatusCode::NOT_FOUND, "no artifact"};
    for (const char byte : it->second) {  // In many pieces.
      v1::GetArtifactResponse piece;
      piece.set_piece(std::string(1, byte));
      writer->Write(piece);
    }
    return grpc::Status::OK;
  }

  grpc::Status GetStudy(grpc::ServerContext*, const v1::GetStudyRequest* request,
                        grpc::ServerWriter<v1::GetStudyResponse>* writer) override {
    if (!answers_.has_page && request->form() == v1::GetStudyRequest::FORM_PAGE) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "built without"};
    }
    const bool input = request->form() == v1::GetStudyRequest::FORM_INPUT;
    if (input && answers_.input.empty()) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "a measurement"};
    }
    v1::GetStudyResponse piece;
    piece.set_piece(input ? answers_.input : answers_.study);
    writer->Write(piece);
    return grpc::Status::OK;
  }

  const CannedAnswers answers_;
  std::atomic<int> watches_ = 0;
  std::atomic<size_t> member_watches_ = 0;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace noisefloor::cli
