#include "coordinator/rpc/tree_calls.h"

#include <utility>

#include "grpc/support/time.h"
#include "grpcpp/alarm.h"

#include "common/base/mutex.h"
#include "common/base/reason.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"

namespace noisefloor {

namespace {

constexpr int kReadThreads = 2;

// One file on its way. gRPC owns it from construction; it deletes itself in OnDone. One piece in
// the making or one write in flight, never both.
class TreeStream final : public grpc::ServerWriteReactor<v1::ReadTreeResponse> {
 public:
  TreeStream(TreeCalls::Shared& shared, grpc::CallbackServerContext& context,
             const v1::ReadTreeRequest& request)
      : shared_(shared),
        context_(context),
        request_(request),
        token_(TokenOf(context)),
        call_(std::make_shared<Call>()) {
    MutexLock lock(call_->mutex);
    call_->context = &context;
  }

  void Begin() {
    if (shared_.streams.fetch_add(1) >= shared_.limits.most_at_once) {
      return this->Finish(ToGrpc(TooManyWait("files")));
    }
    MakeNext();
  }

 private:
  // shared: with an alarm that rings while the stream is destroyed.
  struct Call {
    Mutex mutex;
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  void OnWriteDone(bool ok) override {
    alarm_.reset();
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    MakeNext();
  }
  void OnDone() override {
    {
      MutexLock lock(call_->mutex);
      call_->context = nullptr;  // An alarm that rings now finds nothing to cancel.
    }
    alarm_.reset();
    shared_.streams.fetch_sub(1);
    delete this;
  }

  void MakeNext() {
    if (shared_.reads.Post([this] { SendNext(); })) return;
    this->Finish(ToGrpc(TooManyWait("files")));
  }
  // The last statement of each path hands this object to gRPC.
  void SendNext() {
    absl::StatusOr<std::string> piece = Next();
    if (!piece.ok() || piece->empty()) return this->Finish(ToGrpc(piece.status()));
    response_.set_piece(*std::move(piece));
    CancelWhenIdle();
    this->StartWrite(&response_);
  }
  absl::StatusOr<std::string> Next() {
    NF_RETURN_IF_ERROR(StillAwaited(context_));
    if (!token_.empty() && shared_.access.enforced()) {
      NF_RETURN_IF_ERROR(shared_.access.Check(token_).status());
    }
    if (file_ == nullptr) {
      NF_ASSIGN_OR_RETURN(
          file_, shared_.book.Open(request_.identity(), request_.path(), request_.offset()));
    }
    return file_->Next();
  }
  void CancelWhenIdle() {
    alarm_ = std::make_unique<grpc::Alarm>();
    const gpr_timespec wait =
        gpr_time_from_millis(absl::ToInt64Milliseconds(shared_.limits.idle), GPR_TIMESPAN);
    alarm_->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait), [call = call_](bool rang) {
      MutexLock lock(call->mutex);
      if (rang && call->context != nullptr) call->context->TryCancel();
    });
  }

  TreeCalls::Shared& shared_;
  const grpc::CallbackServerContext& context_;
  const v1::ReadTreeRequest request_;
  const std::string token_;
  const std::shared_ptr<Call> call_;
  std::unique_ptr<grpc::Alarm> alarm_;  // While a piece is not taken.
  std::unique_ptr<OfferedFile> file_;
  v1::ReadTreeResponse response_;
};

void Fill(const Tree& tree, v1::DescribeTreeResponse& response) {
  response.set_identity(IdentityOf(tree));
  for (const TreeFile& file : tree.files) {
    v1::TreeFile& told = *response.add_files();
    told.set_path(file.path);
    told.set_size(file.size_bytes);
    told.set_sha256(file.sha256);
    told.set_executable(file.executable);
  }
}

absl::StatusOr<Tree> Wanted(TreeBook& book, const v1::DescribeTreeRequest& request) {
  const int named = int{!request.data_set().empty()} + int{!request.stack().empty()} +
                    int{!request.weights_sha256().empty()};
  if (named > 1) return InvalidInput("data_set, stack and weights_sha256: expected one of them");
  if (!request.weights_sha256().empty()) return book.DescribeWeights(request.weights_sha256());
  if (!request.stack().empty()) return book.DescribeStack(request.stack());
  return book.DescribeDataSet(request.data_set());
}

}  // namespace

TreeCalls::TreeCalls(TreeRoots roots, const AccessBook& access, TreeLimits limits)
    : shared_{.access = access,
              .limits = limits,
              .book = TreeBook(std::move(roots)),
              .reads = query::WorkQueue(kReadThreads, limits.most_waiting),
              .describes = query::WorkQueue(1, limits.most_waiting)} {}

grpc::ServerUnaryReactor* TreeCalls::Describe(grpc::CallbackServerContext* context,
                                              const v1::DescribeTreeRequest* request,
                                              v1::DescribeTreeResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto work = [=, this] {
    absl::Status status = StillAwaited(*context);
    if (status.ok()) {
      const absl::StatusOr<Tree> tree = Wanted(shared_.book, *request);
      if (tree.ok()) Fill(*tree, *response);
      status = tree.status();
    }
    reactor->Finish(ToGrpc(status));
  };
  if (!shared_.describes.Post(work)) reactor->Finish(ToGrpc(TooManyWait("descriptions")));
  return reactor;
}

grpc::ServerWriteReactor<v1::ReadTreeResponse>* TreeCalls::Read(
    grpc::CallbackServerContext* context, const v1::ReadTreeRequest* request) {
  auto* stream = new TreeStream(shared_, *context, *request);
  stream->Begin();
  return stream;
}

}  // namespace noisefloor
