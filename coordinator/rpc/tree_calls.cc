#include "coordinator/rpc/tree_calls.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/piece_stream.h"

namespace noisefloor {

namespace {

constexpr int kReadThreads = 2;

// A piece of the file each time, opened at the first.
PieceSource TreePieces(TreeBook& book, const v1::ReadTreeRequest& request) {
  // shared: std::function copies what it holds.
  return [&book, request,
          file = std::shared_ptr<OfferedFile>()]() mutable -> absl::StatusOr<std::string> {
    if (file == nullptr) {
      NF_ASSIGN_OR_RETURN(file, book.Open(request.identity(), request.path(), request.offset()));
    }
    return file->Next();
  };
}

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
    : access_(access),
      places_{.what = "files of data sets and stacks",
              .most = limits.most_at_once,
              .idle = limits.idle},
      book_(std::move(roots)),
      reads_(kReadThreads, limits.most_waiting),
      describes_(1, limits.most_waiting) {}

grpc::ServerUnaryReactor* TreeCalls::Describe(grpc::CallbackServerContext* context,
                                              const v1::DescribeTreeRequest* request,
                                              v1::DescribeTreeResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto work = [=, this] {
    absl::Status status = StillAwaited(*context);
    if (status.ok()) {
      const absl::StatusOr<Tree> tree = Wanted(book_, *request);
      if (tree.ok()) Fill(*tree, *response);
      status = tree.status();
    }
    reactor->Finish(ToGrpc(status));
  };
  if (!describes_.Post(work)) reactor->Finish(ToGrpc(TooManyWait("descriptions")));
  return reactor;
}

grpc::ServerWriteReactor<v1::ReadTreeResponse>* TreeCalls::Read(
    grpc::CallbackServerContext* context, const v1::ReadTreeRequest* request) {
  const auto post = [this](std::function<void()> work) { return reads_.Post(std::move(work)); };
  // gRPC's from here on.
  return new PieceStream<v1::ReadTreeResponse>(
      places_, *context, post,
      WhileAwaited(*context, WhileProved(access_, TokenOf(*context), TreePieces(book_, *request))));
}

}  // namespace noisefloor
