#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/data_roots.h"
#include "common/files/mapped_file.h"
#include "common/files/safetensors.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/infer_rows.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_options.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/submission.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/train_here.h"

namespace noisefloor::cli {

namespace {

constexpr size_t kMostFileName = 200;   // Bytes.
constexpr uint64_t kSlowest = 1 << 20;  // Bytes a second: a slower network is a broken one.

// A file of weights, brought to the coordinator.
absl::StatusOr<v1::WeightsFile> Bring(Connection& connection, const std::string& path) {
  NF_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                               file.bytes().size());
  v1::WeightsFile weights;
  weights.set_sha256(Sha256Hex(bytes));
  weights.set_size(bytes.size());
  weights.set_name(path.substr(path.rfind('/') + 1).substr(0, kMostFileName));

  grpc::ClientContext context;
  connection.Prepare(context, absl::Seconds(60 + bytes.size() / kSlowest));
  v1::PutWeightsResponse response;
  const auto writer = connection.stub().PutWeights(&context, &response);
  v1::PutWeightsRequest request;
  request.mutable_header()->set_sha256(weights.sha256());
  request.mutable_header()->set_size(weights.size());
  bool goes_on = writer->Write(request);
  for (size_t at = 0; goes_on && at < bytes.size(); at += kPieceBytes) {
    request.set_piece(std::string(bytes.substr(at, kPieceBytes)));
    goes_on = writer->Write(request);
  }
  writer->WritesDone();
  NF_RETURN_IF_ERROR(connection.Named(FromGrpc(writer->Finish())));
  return weights;
}

class Infer final : public Command {
 public:
  std::string_view Name() const override { return "infer"; }
  std::string_view Help() const override {
    return "Evaluate the weights of finished members on hardware classes, and train none of them "
           "again";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor infer s3  # on all classes that are here, after what its home has waiting
  noisefloor infer s3 --hardware=cpu-intel-avx2,cpu-intel-avx512 --plan=algo
  noisefloor infer s3 --hardware=nvidia-h200 --stack=any --coordinator=box:7077
  noisefloor infer s3 --cell=0 --weights=theirs.safetensors --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep that trained them, such as s3")
        ->required()
        ->type_name("ID");
    app.add_option("--hardware", hardware_,
                   "on these hardware classes (default: all that are connected)")
        ->type_name("CLASSES")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--stack", stack_, "with this stack, or any (default: each member's)")
        ->type_name("STACK");
    app.add_option("--weights", weights_,
                   "these in the place of the members' own: a .safetensors file of their network")
        ->type_name("FILE");
    members_.DescribeTrained(app);
    app.add_option("--data-root", data_root_, kDataRootHelp)->type_name("DIRS");
    app.add_option("--trainer", trainers_, kTrainerHelp)
        ->type_name("STACK=COMMAND")
        ->check(StackAndCommand())
        ->allow_extra_args(false);
  }

  // Here, with a worker beside this process; or, where a coordinator serves, with its workers.
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, RequiredSweepNumber(sweep_));
    NF_RETURN_IF_ERROR(CheckClassNames(hardware_));
    NF_RETURN_IF_ERROR(CheckGivenRoots("--data-root", data_root_));
    NF_ASSIGN_OR_RETURN(request_, RequestFor(sweep));
    if (!weights_.empty()) {
      NF_RETURN_IF_ERROR(Annotate(SafetensorsFile::Open(weights_).status(), "--weights"));
    }
    OutliveReaders();
    NF_ASSIGN_OR_RETURN(Connection connection, OpenToTrainSomewhere(context));
    v1::GetSweepRequest asked;
    asked.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer, connection.Call(&Stub::GetSweep, asked));
    // Before a worker takes what the home has waiting.
    if (!connection.remote()) NF_RETURN_IF_ERROR(CheckSomeHasWeights(connection, answer.sweep()));
    const std::vector<std::string> stacks = StacksFor(answer.sweep());
    const auto submit = [&](Connection& to) -> absl::StatusOr<uint64_t> {
      if (!to.remote()) NF_RETURN_IF_ERROR(CheckSomeIsHere(to, stacks));
      return Submit(context, to);
    };
    NF_ASSIGN_OR_RETURN(const TrainedHere done,
                        TrainSomewhere(context, connection, Worker(context, stacks), submit));
    if (done.stopped) return Withdraw(context, connection, done.sweep);
    return Print(context, connection, done.sweep.id());
  }

 private:
  absl::StatusOr<v1::InferMembersRequest> RequestFor(uint64_t sweep) const {
    v1::InferMembersRequest request;
    request.set_sweep_id(sweep);
    request.mutable_hardware_classes()->Add(hardware_.begin(), hardware_.end());
    request.set_stack(stack_);
    NF_ASSIGN_OR_RETURN(*request.mutable_selection(), members_.Selection(sweep));
    return request;
  }

  // In the words of a coordinator that is asked for the same.
  absl::Status CheckSomeHasWeights(Connection& connection, const v1::SweepSummary& sweep) const {
    if (sweep.kind() != "train") {
      return MakeError(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("s{} is of kind {}: expected a sweep that trains", sweep.id(), sweep.kind()));
    }
    const auto has_weights = [](const v1::Artifact& file) {
      return file.kind() == "weights" && file.collected_unix_seconds() == 0;
    };
    Listing listing = {
        .sweep = sweep.id(), .selection = request_.selection(), .detail = Detail::kFull};
    listing.selection.add_states(v1::MEMBER_STATE_DONE);
    bool found = false;
    for (const uint32_t limit : {1u, 0u}) {  // The first one has them, nearly always.
      listing.limit = limit;
      NF_RETURN_IF_ERROR(VisitSelected(connection, listing, [&](v1::Member&& member) {
        found = found || !weights_.empty() ||
                std::ranges::any_of(member.outcome().artifacts(), has_weights);
      }));
      if (found) return absl::OkStatus();
    }
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("s{}: none of the members asked for is done and has its weights", sweep.id()));
  }

  // The stack that is asked for, or each that the sweep names. "any": whichever is there.
  std::vector<std::string> StacksFor(const v1::SweepSummary& sweep) const {
    if (!stack_.empty()) return {stack_};
    const auto& named = sweep.sweep().stacks();
    if (named.empty()) return {"any"};
    return {named.begin(), named.end()};
  }

  // Each class that is asked for has one of the stacks here: which of them the selected members
  // have, the coordinator knows.
  absl::Status CheckSomeIsHere(Connection& connection,
                               const std::vector<std::string>& stacks) const {
    const std::vector<std::string> any = {"any"};
    for (const std::string& hardware : hardware_.empty() ? any : hardware_) {
      absl::Status here;
      for (const std::string& stack : stacks) {
        here = CheckIsHere(connection, {hardware, stack, /*infers=*/true});
        if (here.ok()) break;
      }
      NF_RETURN_IF_ERROR(here);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Submit(const Context& context, Connection& connection) {
    if (!weights_.empty()) {
      NF_ASSIGN_OR_RETURN(*request_.mutable_weights(), Bring(connection, weights_));
    }
    request_.set_request_id(MakeRequestId(context));
    NF_ASSIGN_OR_RETURN(const v1::InferMembersResponse answer,
                        connection.Call(&Stub::InferMembers, request_));
    context.err << fmt::format("s{} evaluates {}\n", answer.sweep_id(),
                               Counted(answer.members(), "member"));
    if (answer.without_weights() > 0) {
      context.err << fmt::format("left out: {} that {} not done, or whose weights are not there\n",
                                 Counted(answer.without_weights(), "member"),
                                 answer.without_weights() == 1 ? "is" : "are");
    }
    return answer.sweep_id();
  }

  LocalWorkerSettings Worker(const Context& context, const std::vector<std::string>& stacks) const {
    return {.data_roots = JoinDataRoots(DataRoots(context, data_root_)),
            .trainers = trainers_,
            .stacks = InstalledOf(stacks)};
  }

  static absl::StatusOr<int> Print(Context& context, Connection& connection, uint64_t sweep) {
    NF_ASSIGN_OR_RETURN(
        const std::vector<v1::Member> members,
        ListMembers(connection, sweep, v1::MEMBER_STATE_UNSPECIFIED, Detail::kHashes));
    NF_ASSIGN_OR_RETURN(const std::vector<InferRow> rows, InferRows(connection, members));
    if (context.Json()) {
      Json listed = Json::array();
      for (const InferRow& row : rows) listed.push_back(InferJson(row));
      PrintJson(context.out,
                {{"version", 1}, {"sweep", fmt::format("s{}", sweep)}, {"members", listed}});
    } else {
      PrintTable(context, rows, sweep);
    }
    const bool all = std::ranges::all_of(rows, [](const InferRow& row) {
      return row.member.state() == v1::MEMBER_STATE_DONE ||
             row.member.state() == v1::MEMBER_STATE_DIVERGED;
    });
    return all ? kDone : kFailedMembers;
  }

  static void PrintTable(const Context& context, const std::vector<InferRow>& rows,
                         uint64_t sweep) {
    Table table({"trained on", "evaluated on", "members", "done", "same predictions",
                 "largest top-1 difference"});
    for (const InferPair& pair : PairClasses(rows)) {
      const bool own = pair.same + pair.different > 0;
      table.Add({pair.train_hardware, pair.infer_hardware, std::to_string(pair.members),
                 std::to_string(pair.done),
                 own ? fmt::format("{} of {}", pair.same, pair.same + pair.different) : "-",
                 own && pair.largest_top1_difference
                     ? fmt::format("{:.2f} %", 100 * *pair.largest_top1_difference)
                     : "-"});
    }
    table.Print(context);
    context.out << fmt::format("kept as s{}: {} says what changes, {}, {}\n", sweep,
                               context.Hint(fmt::format("report s{}", sweep)),
                               context.Hint(fmt::format("members s{}", sweep)),
                               context.Hint(fmt::format("export s{} --to=DIR", sweep)));
  }

  std::string sweep_;
  std::vector<std::string> hardware_;
  std::string stack_;
  std::string weights_;
  std::string data_root_;
  std::vector<std::string> trainers_;
  MemberOptions members_;
  v1::InferMembersRequest request_;
};

}  // namespace

std::unique_ptr<Command> MakeInfer() { return std::make_unique<Infer>(); }

}  // namespace noisefloor::cli
