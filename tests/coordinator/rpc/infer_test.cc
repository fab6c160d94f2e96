// Weights that are evaluated: the calls of people, and what workers get of them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/reason.h"
#include "common/cache/tree.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kClass[] = "cpu-amd-avx2";

class InferTest : public CoordinatorTest {
 protected:
  InferTest() {
    Join("box", 7, true);
    v1::Sweep sweep = SmallSweep("a", 2);
    sweep.mutable_noise(0)->set_name("algo");
    EXPECT_TRUE(Submit(sweep).ok());
    for (const char* weights : {"first weights", "second weights"}) {
      trained_.push_back(worker_->Started());
      EXPECT_TRUE(Upload(trained_.back().lease_id(), weights).ok());
      EXPECT_TRUE(worker_->Send(ScriptedWorker::Finish(trained_.back().lease_id(), 0, {weights})));
      EXPECT_TRUE(worker_->Settled().accepted());
    }
  }
  ~InferTest() override { worker_.reset(); }

  void Join(const std::string& name, uint64_t identity, bool infers) {
    worker_.reset();
    worker_ = std::make_unique<ScriptedWorker>(*workers_);
    v1::SessionRequest request = RegisterAs(name, identity);
    request.mutable_register_()->mutable_inventory()->mutable_offers(0)->set_infers(infers);
    worker_->Send(request);
    EXPECT_TRUE(worker_->Next(ScriptedWorker::Case::kWelcome).has_value());
  }
  absl::StatusOr<v1::UploadResponse> Upload(uint64_t lease, const std::string& content) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::UploadResponse response;
    const auto writer = workers_->Upload(&context, &response);
    v1::UploadRequest request;
    request.mutable_header()->set_lease_id(lease);
    request.mutable_header()->set_kind("weights");
    request.mutable_header()->set_sha256(Sha256Hex(content));
    request.mutable_header()->set_size(content.size());
    writer->Write(request);
    request.set_piece(content);
    writer->Write(request);
    writer->WritesDone();
    const absl::Status status = FromGrpc(writer->Finish());
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<v1::PutWeightsResponse> Put(const std::vector<v1::PutWeightsRequest>& parts) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::PutWeightsResponse response;
    const auto writer = people_->PutWeights(&context, &response);
    for (const v1::PutWeightsRequest& part : parts) {
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    const absl::Status status = FromGrpc(writer->Finish());
    if (!status.ok()) return status;
    return response;
  }
  static v1::PutWeightsRequest Header(const std::string& sha256, uint64_t size) {
    v1::PutWeightsRequest request;
    request.mutable_header()->set_sha256(sha256);
    request.mutable_header()->set_size(size);
    return request;
  }
  static v1::PutWeightsRequest Piece(const std::string& piece) {
    v1::PutWeightsRequest request;
    request.set_piece(piece);
    return request;
  }
  static v1::InferMembersRequest Request(const std::string& hardware = kClass) {
    v1::InferMembersRequest request;
    request.set_sweep_id(1);
    if (!hardware.empty()) request.add_hardware_classes(hardware);
    return request;
  }
  absl::StatusOr<v1::InferMembersResponse> Infer(const v1::InferMembersRequest& request) {
    return Call(&People::InferMembers, request);
  }
  absl::StatusOr<v1::DescribeTreeResponse> Describe(const std::string& sha256) {
    v1::DescribeTreeRequest request;
    request.set_weights_sha256(sha256);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::DescribeTreeResponse response;
    const absl::Status status = FromGrpc(workers_->DescribeTree(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  std::string Read(const v1::DescribeTreeResponse& tree) {
    v1::ReadTreeRequest request;
    request.set_identity(tree.identity());
    request.set_path(tree.files(0).path());
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto reader = workers_->ReadTree(&context, request);
    std::string content;
    for (v1::ReadTreeResponse piece; reader->Read(&piece);) content += piece.piece();
    EXPECT_TRUE(reader->Finish().ok());
    return content;
  }

  std::unique_ptr<ScriptedWorker> worker_;
  std::vector<v1::StartMember> trained_;
};

TEST_F(InferTest, AMemberIsLeasedWithTheWeightsAndLanesOfItsSubject) {
  const auto infer = Infer(Request());
  ASSERT_TRUE(infer.ok()) << infer.status();
  EXPECT_EQ(infer->sweep_id(), 2u);
  EXPECT_EQ(infer->members(), 2u);
  EXPECT_EQ(infer->without_weights(), 0u);

  const v1::StartMember start = worker_->Started();

  EXPECT_EQ(start.member(), "s2c0r0");
  EXPECT_EQ(start.weights_sha256(), Sha256Hex("first weights"));
  EXPECT_EQ(start.specification(), trained_[0].specification()) << "on the same class: all of it";
  EXPECT_FALSE(start.write_evaluation_set());
  const auto tree = Describe(start.weights_sha256());
  ASSERT_TRUE(tree.ok()) << tree.status();
  ASSERT_EQ(tree->files_size(), 1);
  EXPECT_EQ(tree->files(0).path(), kWeightsFile);
  EXPECT_EQ(tree->files(0).sha256(), start.weights_sha256());
  EXPECT_EQ(Read(*tree), "first weights");
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(start.lease_id(), 0)));
  const v1::StartMember second = worker_->Started();
  EXPECT_EQ(second.weights_sha256(), Sha256Hex("second weights"));
  EXPECT_EQ(second.specification(), trained_[1].specification());
  EXPECT_EQ(Member("s2c0r1").subject(), "s1c0r1");
  EXPECT_EQ(Member("s2c0r1").weights_file(), "");
  EXPECT_EQ(Member("s1c0r1").subject(), "");

  worker_.reset();
  Restart();

  Join("box", 7, true);
  const v1::StartMember again = worker_->Started();
  EXPECT_EQ(again.member(), "s2c0r1");
  EXPECT_EQ(again.weights_sha256(), Sha256Hex("second weights")) << "as the store has it";
  EXPECT_EQ(again.specification(), trained_[1].specification());
}

// An evaluation is of one device, whatever there is.
TEST_F(InferTest, AllClassesAreThoseOfOneDevice) {
  ScriptedWorker several(*workers_);
  v1::SessionRequest request = RegisterAs("several", 8);
  request.mutable_register_()->mutable_inventory()->mutable_offers(0)->set_hardware_class(
      "nvidia-t4-x2");
  several.Send(request);
  ASSERT_TRUE(several.Next(ScriptedWorker::Case::kWelcome).has_value());

  const auto infer = Infer(Request(""));

  ASSERT_TRUE(infer.ok()) << infer.status();
  EXPECT_EQ(infer->members(), 2u);
  EXPECT_EQ(Member("s2c0r0").hardware(), kClass);
  EXPECT_THAT(
      Message(Infer(Request("nvidia-t4-x2")).status()),
      HasSubstr("an evaluation is of one device, and the slots of nvidia-t4-x2 have several"));
}

TEST_F(InferTest, NoRoomIsPromisedOfWeightsThatItEvaluates) {
  v1::CollectGarbageRequest request;
  request.add_kinds("weights");
  request.set_dry_run(true);
  EXPECT_EQ(Call(&People::CollectGarbage, request)->artifacts(0).files(), 2u);

  ASSERT_TRUE(Infer(Request()).ok());

  EXPECT_EQ(Call(&People::CollectGarbage, request)->artifacts_size(), 0);
}

TEST_F(InferTest, SaysWhatItIsAndHasAReportOfItsOwn) {
  ASSERT_TRUE(Infer(Request()).ok());
  v1::GetSweepRequest request;
  request.set_sweep_id(2);
  const auto answer = Call(&People::GetSweep, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sweep().kind(), "infer");
  EXPECT_EQ(answer->sweep().of(), "s1");
  EXPECT_EQ(answer->sweep().name(), "infer-s1");
  v1::GetStudyRequest study;
  study.set_sweep_id(2);
  study.set_form(v1::GetStudyRequest::FORM_TABLES);
  grpc::ClientContext tables;
  SetDeadline(tables, kPatience);
  auto reader = people_->GetStudy(&tables, study);
  v1::GetStudyResponse piece;
  ASSERT_TRUE(reader->Read(&piece));
  EXPECT_THAT(piece.piece(), HasSubstr("trained on \\ evaluated on"));
  study.set_form(v1::GetStudyRequest::FORM_INPUT);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  reader = people_->GetStudy(&context, study);
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_THAT(Message(FromGrpc(reader->Finish())),
              HasSubstr("s2 evaluates weights of s1 and is no study of trainings; `noisefloor "
                        "report s2` says what changes on the way"));
  v1::ReplayMemberRequest replay;
  replay.set_member("s2c0r0");
  EXPECT_THAT(Message(Call(&People::ReplayMember, replay).status()),
              HasSubstr("s2c0r0 trains nothing"));
  v1::InferMembersRequest again = Request();
  again.set_sweep_id(2);
  EXPECT_THAT(Message(Infer(again).status()), HasSubstr("s2 is of kind infer"));
}

TEST_F(InferTest, MembersAreSelectedAndThoseWithoutWeightsAreCounted) {
  v1::InferMembersRequest request = Request("nvidia-t4");
  request.mutable_selection()->add_members("s1c0r1");
  request.set_stack("any");
  auto infer = Infer(request);
  ASSERT_TRUE(infer.ok()) << infer.status();
  EXPECT_EQ(infer->members(), 1u);
  EXPECT_EQ(Member("s2c0r0").subject(), "s1c0r1");
  EXPECT_EQ(Member("s2c0r0").hardware(), "nvidia-t4");
  EXPECT_EQ(Member("s2c0r0").stack(), "");
  for (const auto& [source, lane] : Member("s1c0r1").sources()) {
    EXPECT_EQ(Member("s2c0r0").sources().at(source).lane(), lane.lane()) << source;
    EXPECT_EQ(Member("s2c0r0").sources().at(source).seed(), lane.seed()) << source;
  }
  ASSERT_TRUE(Submit(SmallSweep("b", 1)).ok());  // Its member is leased.
  request.set_sweep_id(3);
  request.clear_selection();
  EXPECT_EQ(Message(Infer(request).status()),
            "s3: none of the members asked for is done and has its weights");
}

TEST_F(InferTest, AFileOfAnybodysIsEvaluatedInThePlaceOfTheOwnWeights) {
  const std::string content((2 << 20) + 5, 'w');
  const std::string sha256 = Sha256Hex(content);
  v1::InferMembersRequest request = Request();
  request.mutable_weights()->set_sha256(sha256);
  request.mutable_weights()->set_size(content.size());
  request.mutable_weights()->set_name("theirs.safetensors");
  EXPECT_THAT(Message(Infer(request).status()), HasSubstr("PutWeights first"));
  const std::vector<v1::PutWeightsRequest> parts = {
      Header(sha256, content.size()), Piece(content.substr(0, 1 << 20)),
      Piece(content.substr(1 << 20, 1 << 20)), Piece(content.substr(2 << 20))};

  const auto put = Put(parts);

  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_FALSE(put->known_already());
  EXPECT_TRUE(Put(parts)->known_already());
  EXPECT_EQ(Describe(sha256).status().code(), Code::kNotFound) << "no inference names it yet";
  const auto infer = Infer(request);
  ASSERT_TRUE(infer.ok()) << infer.status();
  EXPECT_EQ(infer->members(), 1u) << "both members have one network and one test set";
  EXPECT_EQ(Member("s2c0r0").subject(), "s1c0r0");
  EXPECT_EQ(Member("s2c0r0").weights_file(), "theirs.safetensors");
  EXPECT_EQ(worker_->Started().weights_sha256(), sha256);
  EXPECT_EQ(Read(*Describe(sha256)), content);
}

TEST_F(InferTest, AFileThatIsNotAsAnnouncedIsNotKept) {
  const std::string sha256 = Sha256Hex("some");
  const auto refusal = [&](const std::vector<v1::PutWeightsRequest>& parts) {
    const auto put = Put(parts);
    EXPECT_EQ(put.status().code(), Code::kInvalidArgument) << put.status();
    return Message(put.status());
  };
  EXPECT_THAT(refusal({Piece("some")}), HasSubstr("expected header"));
  EXPECT_THAT(refusal({}), HasSubstr("expected header"));
  EXPECT_THAT(refusal({Header("abc", 4)}), HasSubstr("header.sha256"));
  EXPECT_THAT(refusal({Header(sha256, 0)}), HasSubstr("header.size: expected 1 to"));
  EXPECT_THAT(refusal({Header(sha256, uint64_t{1} << 40)}), HasSubstr("header.size"));
  refusal({Header(sha256, 4), Piece("sone")});
  refusal({Header(sha256, 4), Piece("som")});
  refusal({Header(sha256, 4), Piece("some more")});
  EXPECT_THAT(refusal({Header(sha256, 4), Piece(std::string((1 << 20) + 1, 'x'))}),
              HasSubstr("piece"));
  EXPECT_THAT(refusal({Header(sha256, 4), Piece("")}), HasSubstr("piece: expected 1 to"));
  EXPECT_FALSE(Put({Header(sha256, 4), Piece("some")})->known_already());
}

TEST_F(InferTest, WhatCannotBeEvaluatedIsRefusedInWords) {
  const auto refusal = [&](const std::function<void(v1::InferMembersRequest&)>& change) {
    v1::InferMembersRequest request = Request();
    change(request);
    return Message(Infer(request).status());
  };
  EXPECT_THAT(refusal([](auto& r) { r.set_sweep_id(0); }), HasSubstr("sweep_id"));
  EXPECT_THAT(refusal([](auto& r) { r.set_sweep_id(9); }), HasSubstr("s9: no such sweep"));
  EXPECT_THAT(refusal([](auto& r) { r.add_hardware_classes("cpu-x"); }), HasSubstr("'cpu-x'"));
  EXPECT_THAT(refusal([](auto& r) { r.add_hardware_classes(kClass); }), HasSubstr("twice"));
  EXPECT_THAT(refusal([](auto& r) { r.set_stack("a b"); }), HasSubstr("stack: expected"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_selection()->add_plans("impl"); }),
              HasSubstr("s1 has no plan impl"));
  EXPECT_THAT(refusal([](auto& r) { r.mutable_weights()->set_sha256("abc"); }),
              HasSubstr("weights.sha256"));
  worker_.reset();
  EXPECT_TRUE(Infer(Request()).ok()) << "a class that is named needs no worker";
}

TEST_F(InferTest, ARepeatedRequestAnswersWithTheSameSweep) {
  v1::InferMembersRequest request = Request();
  request.set_request_id("id-1");
  EXPECT_EQ(Infer(request)->sweep_id(), 2u);
  EXPECT_EQ(Infer(request)->sweep_id(), 2u);
  request.set_request_id("id-2");
  EXPECT_EQ(Infer(request)->sweep_id(), 3u);
}

TEST_F(InferTest, ARepeatedRequestIsAnsweredEvenWhenNoWorkerIsConnectedAnyMore) {
  v1::InferMembersRequest request = Request();
  request.clear_hardware_classes();
  request.set_request_id("id-1");
  const auto first = Infer(request);
  ASSERT_TRUE(first.ok()) << first.status();
  worker_.reset();
  Restart();

  const auto again = Infer(request);

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->sweep_id(), first->sweep_id());
  EXPECT_EQ(again->members(), first->members());
  request.set_sweep_id(again->sweep_id());
  request.add_hardware_classes(kClass);
  EXPECT_EQ(Infer(request).status().code(), absl::StatusCode::kFailedPrecondition)
      << "what evaluates was never a sweep that trains";
  request = Request();
  request.clear_hardware_classes();
  request.set_request_id("id-2");
  EXPECT_EQ(Infer(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(InferTest, ATrainerThatDoesNotInferGetsNoneAndExplainSaysWhy) {
  Join("old", 8, false);
  ASSERT_TRUE(Infer(Request()).ok());
  v1::ExplainMemberRequest request;
  request.set_member("s2c0r0");
  const auto text = Call(&People::ExplainMember, request);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(text->text(), HasSubstr("old is left out: its trainer evaluates no weights"));
}

}  // namespace
}  // namespace noisefloor::test
