// Rows of an upload, and of workers that only are there.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <string>

#include "common/base/philox.h"
#include "common/files/sha256.h"
#include "tests/bench/coordinator/figures.h"
#include "tests/bench/coordinator/messages.h"
#include "tests/bench/coordinator/rows.h"

namespace noisefloor::bench {

namespace {

using Json = nlohmann::json;

// Bytes that no compression makes less.
std::string DrawnBytes(size_t count) {
  std::string bytes(count, '\0');
  const PhiloxStream draws(1, count);
  for (size_t at = 0; at + 16 <= count; at += 16) {
    const PhiloxCounter draw = draws.Block(at);
    std::memcpy(&bytes[at], draw.data(), 16);
  }
  return bytes;
}

void Upload(v1::WorkerService::Stub& stub, uint64_t lease, const std::string& content,
            const std::string& sha256) {
  grpc::ClientContext context;
  v1::UploadResponse response;
  const auto writer = stub.Upload(&context, &response);
  v1::UploadRequest request;
  request.mutable_header()->set_lease_id(lease);
  request.mutable_header()->set_kind("weights");
  request.mutable_header()->set_sha256(sha256);
  request.mutable_header()->set_size(content.size());
  bool goes_on = writer->Write(request);
  for (size_t at = 0; goes_on && at < content.size(); at += kPieceBytes) {
    request.set_piece(content.substr(at, kPieceBytes));
    goes_on = writer->Write(request);
  }
  writer->WritesDone();
  MustBe(writer->Finish());
}

double MonotonicSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

Json MeasureUpload(const RowTarget& target, const UploadRow& row) {
  const std::string content = DrawnBytes(row.mebibytes << 20);
  const std::string sha256 = Sha256Hex(content);
  std::string data;  // Before the lease.
  std::atomic<uint64_t> lease{0};
  FakeFleet fleet(target.workers, {.workers = 1, .slots = 1, .prefix = "u"},
                  {.start = [&](FakeWorker& worker, const v1::StartMember& start) {
                    worker.Begin(start.lease_id());
                    data = DataOf(start.specification());
                    lease = start.lease_id();
                  }});
  fleet.ConnectAll();
  (void)MeasureSubmit(target, {1, 1, 1});
  const double deadline = Seconds() + 30;
  while (lease == 0 && Seconds() < deadline) WaitUntil(Seconds() + 0.001);
  const double begin = Seconds();
  const double since = MonotonicSeconds();
  Upload(fleet.worker(0).stub(), lease, content, sha256);
  const double took = Seconds() - begin;
  v1::SessionRequest end = Finished(lease, 0, data);
  v1::Artifact& file = *end.mutable_finished()->mutable_outcome()->add_artifacts();
  file.set_kind("weights");
  file.set_path("weights.safetensors");
  file.set_sha256(sha256);
  file.set_size(content.size());
  fleet.worker(0).Say(std::move(end));
  while (fleet.tally().settled + fleet.tally().refused == 0 && Seconds() < deadline + took) {
    WaitUntil(Seconds() + 0.001);
  }
  fleet.Stop();
  return {{"mib", row.mebibytes},
          {"seconds", took},
          {"since", since},
          {"mb_per_s", static_cast<double>(content.size()) / 1e6 / took},
          {"settled", fleet.tally().settled.load()},
          {"problem", fleet.problem()}};
}

Json MeasureHold(const RowTarget& target, const HoldRow& row) {
  FakeFleet fleet(target.workers, row.fleet,
                  {.start = [](FakeWorker& worker, const v1::StartMember& start) {
                    worker.Begin(start.lease_id());
                  }});
  const double begin = Seconds();
  fleet.ConnectAll();
  std::cout << Json{{"connected", fleet.tally().welcomed.load()}, {"ms", (Seconds() - begin) * 1e3}}
            << std::endl;
  // A line asks for the figures of that moment, the end of the input for the last.
  const auto figures = [&] {
    const Tally& tally = fleet.tally();
    return Json{{"workers", row.fleet.workers},        {"leases", fleet.leases()},
                {"welcomed", tally.welcomed.load()},   {"lost", tally.lost.load()},
                {"stopped", tally.stopped.load()},     {"last_welcome", tally.last_welcome.load()},
                {"last_loss", tally.last_loss.load()}, {"problem", fleet.problem()}};
  };
  for (std::string line; std::getline(std::cin, line);) std::cout << figures() << std::endl;
  const Json last = figures();
  fleet.Stop();
  return last;
}

Json MeasureFirstLease(const RowTarget& target) {
  std::atomic<double> at{0};
  // The channel's own waits between two tries are too long for this: each try has a new one.
  const double deadline = Seconds() + 60;
  while (Seconds() < deadline) {
    const auto channel = target.workers.Connect();
    const auto soon = std::chrono::system_clock::now() + std::chrono::milliseconds(2);
    if (channel->WaitForConnected(soon)) break;
  }
  FakeFleet fleet(target.workers, {.workers = 1, .slots = 1, .prefix = "first", .reconnect = true},
                  {.start = [&](FakeWorker&, const v1::StartMember&) { at = MonotonicSeconds(); }});
  fleet.Connect();
  while (at == 0 && Seconds() < deadline) WaitUntil(Seconds() + 0.001);
  if (at == 0) MustBe(MakeError(absl::StatusCode::kDeadlineExceeded, "no lease in a minute"));
  return {{"at", at.load()}};
}

}  // namespace noisefloor::bench
