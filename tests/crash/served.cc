#include "tests/crash/served.h"

#include <signal.h>

#include <utility>

#include "grpcpp/grpcpp.h"

#include "common/files/directory.h"

namespace noisefloor::test {

namespace {

constexpr absl::Duration kServePatience = absl::Minutes(2);

}  // namespace

std::shared_ptr<grpc::Channel> PlainChannel(const std::string& address,
                                            const ChannelAccess* access) {
  grpc::ChannelArguments settings;
  settings.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  settings.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  settings.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  settings.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  settings.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  settings.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(address, CredentialsOf(access), settings);
}

Served::Served(std::string folder, FaultDisk* disk) : folder_(std::move(folder)), disk_(disk) {}

absl::Status Served::Start(const std::string& address) {
  process_.reset();
  const std::vector<std::string> arguments = {NOISEFLOOR, "serve", "--home=" + home(),
                                              "--listen=" + address};
  NF_ASSIGN_OR_RETURN(
      Process process,
      Process::Start(disk_ == nullptr ? arguments : disk_->Under(arguments), folder_ + "/log"));
  process_.emplace(std::move(process));
  const auto line = process_->ReadLine(kServePatience);
  if (!line.ok()) return Annotate(line.status(), Log());
  const std::string before = " listens on ";
  const size_t begin = line->find(before) + before.size();
  address_ = line->substr(begin, line->find(',', begin) - begin);
  NF_ASSIGN_OR_RETURN(const auto people, ChannelOf(AccessUser::kPerson));
  NF_ASSIGN_OR_RETURN(const auto workers, ChannelOf(AccessUser::kWorker));
  people_ = v1::CoordinatorService::NewStub(people);
  tokens_ = v1::AccessService::NewStub(people);
  workers_ = v1::WorkerService::NewStub(workers);
  return absl::OkStatus();
}

absl::Status Served::SetUpAccess() const {
  NF_ASSIGN_OR_RETURN(Process process,
                      Process::Start({NOISEFLOOR, "access", "init", AccessFolder(),
                                      "--home=" + home(), "--address=127.0.0.1:7077"},
                                     folder_ + "/log"));
  NF_ASSIGN_OR_RETURN(const int code, process.Wait(kServePatience));
  if (code == 0) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal, "access init: " + Log());
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Served::ChannelOf(AccessUser user) const {
  if (!PathExists(AccessFolder())) return PlainChannel(address_);
  NF_ASSIGN_OR_RETURN(const std::string path, FindAccessFile(AccessFolder(), user));
  NF_ASSIGN_OR_RETURN(const AccessFile file, ReadAccessFile(path));
  const ChannelAccess access = {file.certificate, [token = file.token] { return token; }};
  return PlainChannel(address_, &access);
}

void Served::Kill() { process_.reset(); }

absl::Status Served::Stop() {
  process_->Signal(SIGTERM);
  NF_ASSIGN_OR_RETURN(const int code, process_->Wait(kServePatience));
  if (code == 0) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal,
                   "the coordinator ended with " + std::to_string(code) + ": " + Log());
}

}  // namespace noisefloor::test
