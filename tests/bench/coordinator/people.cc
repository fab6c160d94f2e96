// Rows of what people ask.
#include <functional>
#include <string>

#include "fmt/format.h"

#include "common/base/philox.h"
#include "tests/bench/coordinator/figures.h"
#include "tests/bench/coordinator/messages.h"
#include "tests/bench/coordinator/rows.h"

namespace noisefloor::bench {

namespace {

using Json = nlohmann::json;
using Stub = v1::CoordinatorService::Stub;

std::unique_ptr<Stub> StubOf(const Target& target) {
  auto channel = target.ConnectNow();
  MustBe(channel.status());
  return v1::CoordinatorService::NewStub(*channel);
}

// Bytes of the answer.
template <typename Request, typename Response>
size_t Ask(Stub& stub,
           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
           const Request& request) {
  grpc::ClientContext context;
  Response response;
  MustBe((stub.*method)(&context, request, &response));
  return response.ByteSizeLong();
}

size_t AskMembers(Stub& stub, const QueryRow& row, const std::string& member) {
  v1::ListMembersRequest request;
  request.set_sweep_id(row.sweep);
  request.set_page_size(100);
  request.set_page_token(member);
  return Ask(stub, &Stub::ListMembers, request);
}

size_t AskSweep(Stub& stub, const QueryRow& row, const std::string&) {
  v1::GetSweepRequest request;
  request.set_sweep_id(row.sweep);
  return Ask(stub, &Stub::GetSweep, request);
}

size_t AskSweeps(Stub& stub, const QueryRow&, const std::string&) {
  v1::ListSweepsRequest request;
  request.set_page_size(500);
  return Ask(stub, &Stub::ListSweeps, request);
}

size_t AskExplain(Stub& stub, const QueryRow&, const std::string& member) {
  v1::ExplainMemberRequest request;
  request.set_member(member);
  return Ask(stub, &Stub::ExplainMember, request);
}

size_t AskMember(Stub& stub, const QueryRow&, const std::string& member) {
  v1::GetMemberRequest request;
  request.set_member(member);
  return Ask(stub, &Stub::GetMember, request);
}

size_t AskWorkers(Stub& stub, const QueryRow&, const std::string&) {
  return Ask(stub, &Stub::ListWorkers, v1::ListWorkersRequest());
}

size_t AskVersion(Stub& stub, const QueryRow&, const std::string&) {
  return Ask(stub, &Stub::GetVersion, v1::GetVersionRequest());
}

using Question = size_t (*)(Stub&, const QueryRow&, const std::string&);

Question QuestionOf(const std::string& what) {
  if (what == "members") return AskMembers;
  if (what == "sweep") return AskSweep;
  if (what == "sweeps") return AskSweeps;
  if (what == "explain") return AskExplain;
  if (what == "member") return AskMember;
  if (what == "workers") return AskWorkers;
  return AskVersion;
}

}  // namespace

Json MeasureSubmit(const RowTarget& target, const SubmitRow& row) {
  const auto stub = StubOf(target.people);
  v1::SubmitSweepRequest request;
  v1::SubmitSweepResponse response;
  *request.mutable_sweep() = SweepOf("load", row.cells, row.members, row.hardware);
  (void)AskVersion(*stub, {}, "");  // The connection stands.
  const double cpu = CpuSeconds(target.coordinator);
  Samples took;
  for (int i = 0; i < row.count; ++i) {
    grpc::ClientContext context;
    const double begin = Seconds();
    MustBe(stub->SubmitSweep(&context, request, &response));
    took.Add(Seconds() - begin);
  }
  return {{"sweep", response.sweep_id()},
          {"cells", row.cells},
          {"members", response.members()},
          {"ms", took.Quantile(0.5) * 1e3},
          {"worst_ms", took.Quantile(1) * 1e3},
          {"coordinator_ms", (CpuSeconds(target.coordinator) - cpu) * 1e3}};
}

Json MeasureQuery(const RowTarget& target, const QueryRow& row) {
  const auto stub = StubOf(target.people);
  const Question ask = QuestionOf(row.what);
  const PhiloxStream draws(row.sweep, StreamOf(row.what));
  Samples took;
  Samples bytes;
  const double begin = Seconds();
  for (int i = 0; i < row.count && Seconds() - begin < row.seconds; ++i) {
    const PhiloxCounter draw = draws.Block(static_cast<uint64_t>(i));
    const std::string member =
        fmt::format("s{}c{}r{}", row.sweep, draw[0] % row.cells, draw[1] % row.replicates);
    const double asked = Seconds();
    bytes.Add(static_cast<double>(ask(*stub, row, member)));
    took.Add(Seconds() - asked);
  }
  return {{"what", row.what},
          {"count", took.size()},
          {"p50_ms", took.Quantile(0.5) * 1e3},
          {"p99_ms", took.Quantile(0.99) * 1e3},
          {"worst_ms", took.Quantile(1) * 1e3},
          {"bytes", bytes.Quantile(0.5)},
          {"most_bytes", bytes.Quantile(1)}};
}

Json MeasureChange(const RowTarget& target, const ChangeRow& row) {
  const auto stub = StubOf(target.people);
  grpc::ClientContext context;
  uint32_t members = 0;
  const double begin = Seconds();
  if (row.what == "cancel") {
    v1::CancelSweepRequest request;
    v1::CancelSweepResponse response;
    request.set_sweep_id(row.sweep);
    MustBe(stub->CancelSweep(&context, request, &response));
    members = response.members();
  } else {
    v1::RetrySweepRequest request;
    v1::RetrySweepResponse response;
    request.set_sweep_id(row.sweep);
    MustBe(stub->RetrySweep(&context, request, &response));
    members = response.members();
  }
  return {{"what", row.what}, {"members", members}, {"ms", (Seconds() - begin) * 1e3}};
}

}  // namespace noisefloor::bench
