#include "worker/daemon/request.h"

#include <stdlib.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "worker/daemon/noop_trainer.h"

namespace noisefloor {
namespace {

class RequestTest : public testing::Test {
 protected:
  RequestTest() {
    std::string pattern = testing::TempDir() + "nf-roots-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/empty");
    std::filesystem::create_directories(folder_ + "/full/fashion-mnist-sample");
    offer_.stacks["fake"] = {{"/bin/true"}, "build", "fingerprint"};
    offer_.stacks["noop"] = {{}, "noop", "noop"};
    offer_.inventory.devices = {{"box EPYC", "EPYC", 0, "", ""}};
    for (const char* stack : {"fake", "noop"}) {
      for (const char* name : {"cpu-amd-sse", "nvidia-t4"}) {
        offer_.inventory.offers.push_back({name, stack, "f", "b"});
      }
    }
    offer_.inventory.slots = {{{0}, 1, {0, 1, 2, 3}}};
    offer_.data_roots = {folder_ + "/empty", folder_ + "/full"};
    specification_.stack = "fake";
    specification_.hardware_class = "cpu-amd-sse";
  }
  ~RequestTest() override { std::filesystem::remove_all(folder_); }

  PreparedMember Prepared() const {
    MemberOrder order{LeaseId{7}, "s1c0r0", 2, SpecificationToJson(specification_), "", true};
    order.specification_sha256 = Sha256Hex(order.specification);
    return Prepare(order, offer_);
  }

  std::string folder_;
  Offer offer_;
  Specification specification_;
};

TEST_F(RequestTest, TheRootThatHoldsTheDataIsChosen) {
  const PreparedMember prepared = Prepared();
  ASSERT_TRUE(prepared.runs) << prepared.refusal.outcome.message;
  EXPECT_EQ(prepared.request.data_root, folder_ + "/full");
  EXPECT_EQ(prepared.request.attempt, 2u);
  EXPECT_TRUE(prepared.request.write_evaluation_set);
  EXPECT_EQ(prepared.key, (slots::TrainerKey{"fake", "cpu-amd-sse", ""}));
}

TEST_F(RequestTest, MissingDataNameTheRoots) {
  offer_.data_roots = {folder_ + "/empty"};
  const PreparedMember prepared = Prepared();
  EXPECT_FALSE(prepared.runs);
  EXPECT_EQ(prepared.refusal.outcome.cause, CauseClass::kBadData);
  EXPECT_EQ(prepared.refusal.outcome.message,
            "data set 'fashion-mnist-sample': this worker has no folder fashion-mnist-sample in " +
                folder_ + "/empty");
  offer_.data_roots = {};
  EXPECT_THAT(Prepared().refusal.outcome.message, testing::HasSubstr("$NOISEFLOOR_DATA"));
}

TEST_F(RequestTest, WhatIsInNoRootIsFetchedWhereThatMayBe) {
  offer_.may_fetch = true;
  EXPECT_EQ(Prepared().fetch, "") << "it is in a root";
  offer_.data_roots = {folder_ + "/empty"};
  PreparedMember prepared = Prepared();
  EXPECT_TRUE(prepared.runs);
  EXPECT_EQ(prepared.fetch, "fashion-mnist-sample");
  EXPECT_FALSE(prepared.can_do_without);
  EXPECT_EQ(prepared.request.data_root, folder_ + "/empty");

  specification_.data.name = "own-set";
  prepared = Prepared();
  EXPECT_TRUE(prepared.runs);
  EXPECT_EQ(prepared.fetch, "own-set");
  EXPECT_TRUE(prepared.can_do_without) << "its trainer may make it by itself";
  std::filesystem::create_directories(folder_ + "/empty/own-set");
  EXPECT_EQ(Prepared().fetch, "") << "its folder is here";
  for (const char* name : {"../own-set", "/etc", ".", "..", ".own"}) {
    specification_.data.name = name;
    EXPECT_EQ(Prepared().fetch, "") << name;
    EXPECT_EQ(Prepared().request.data_root, folder_ + "/empty");
  }
}

// Settings of a trainer that this worker knows nothing of.
TEST_F(RequestTest, TheSpecificationIsPassedOnAsItCame) {
  MemberOrder order{LeaseId{7}, "s1c0r0", 2,
                    R"({"stack":"fake", "hardware_class":"cpu-amd-sse",)"
                    R"("layers":[3,4.0]})"};
  order.specification_sha256 = Sha256Hex(order.specification);
  const PreparedMember prepared = Prepare(order, offer_);
  ASSERT_TRUE(prepared.runs) << prepared.refusal.outcome.message;
  EXPECT_EQ(prepared.request.specification, order.specification);
  EXPECT_EQ(prepared.request.specification_sha256, order.specification_sha256);
  EXPECT_EQ(prepared.request.data_root, folder_ + "/empty:" + folder_ + "/full")
      << "a trainer that names no data set of ours looks for its own";
  order.specification_sha256 = Sha256Hex("another");
  EXPECT_FALSE(Prepare(order, offer_).runs);
}

TEST_F(RequestTest, TheBuiltInTrainerNeedsNoData) {
  offer_.data_roots = {};
  specification_.stack = "noop";
  EXPECT_TRUE(Prepared().runs);
}

TEST_F(RequestTest, GpuTrainersWithFreeKernelsAreOfAnotherKey) {
  specification_.hardware_class = "nvidia-t4";
  EXPECT_EQ(Prepared().key.variables, "");
  specification_.Source(NoiseSource::kKernels).state = SourceState::kFree;
  EXPECT_EQ(Prepared().key.variables, "kernels_free");
}

TEST_F(RequestTest, WeightsComeOnlyToATrainerThatInfers) {
  MemberOrder order{LeaseId{7}, "s1c0r0", 2, SpecificationToJson(specification_), "", false};
  order.specification_sha256 = Sha256Hex(order.specification);
  order.weights_sha256 = std::string(64, 'a');
  offer_.may_fetch = true;
  PreparedMember prepared = Prepare(order, offer_);
  EXPECT_FALSE(prepared.runs);
  EXPECT_EQ(prepared.refusal.outcome.cause, CauseClass::kBadData) << "another worker may";
  EXPECT_EQ(prepared.refusal.outcome.message,
            "the trainer of fake evaluates no weights that it is given");

  offer_.stacks["fake"].infers = true;
  prepared = Prepare(order, offer_);
  ASSERT_TRUE(prepared.runs) << prepared.refusal.outcome.message;
  EXPECT_EQ(prepared.weights, order.weights_sha256);
  EXPECT_EQ(prepared.request.weights, "") << "they are not here yet";
  EXPECT_EQ(Prepared().weights, "");
  offer_.may_fetch = false;
  EXPECT_EQ(Prepare(order, offer_).refusal.outcome.message,
            "this worker has no cache that weights could be brought to");
}

TEST_F(RequestTest, ASpecificationThatIsNoneIsRefused) {
  const MemberOrder order{LeaseId{7}, "s1c0r0", 1, "{}", Sha256Hex("{}"), false};
  const PreparedMember prepared = Prepare(order, offer_);
  EXPECT_FALSE(prepared.runs);
  EXPECT_EQ(prepared.refusal.outcome.cause, CauseClass::kBadSpecification);
}

// The trainer that stands in for real ones keeps what real ones promise.
TEST(NoopTrainerTest, FreeingASourceChangesItsHashesAndNoOthers) {
  const auto changed = [](NoiseSource source, bool physical = false) {
    Specification a;
    a.train.shards = 4;
    a.train.batch_size = 128;
    Specification b = a;
    if (physical) {
      a.Source(source).state = b.Source(source).state = SourceState::kFree;
    } else {
      b.Source(source).seed = 99;
    }
    const auto x = NoopOutcome(a, "one").hashes;
    const auto y = NoopOutcome(b, "two").hashes;
    std::string text;
    for (const auto& [name, hash] : x) text += y.at(name) == hash ? "" : name + " ";
    return text;
  };
  EXPECT_EQ(changed(NoiseSource::kInit), "init logits weights ");
  EXPECT_EQ(changed(NoiseSource::kDataOrder), "first_batches logits weights ");
  EXPECT_EQ(changed(NoiseSource::kAugment), "first_batches logits weights ");
  EXPECT_EQ(changed(NoiseSource::kDropout), "logits weights ");
  EXPECT_EQ(changed(NoiseSource::kReduceOrder, true), "logits weights ");
  EXPECT_EQ(changed(NoiseSource::kKernels, true), "");
}

TEST(NoopTrainerTest, ClassesDifferInWeightsButNotInInit) {
  Specification sse;
  sse.hardware_class = "cpu-amd-sse";
  Specification avx2;
  avx2.hardware_class = "cpu-amd-avx2";
  const auto x = NoopOutcome(sse, "").hashes;
  const auto y = NoopOutcome(avx2, "").hashes;
  EXPECT_EQ(x.at("init"), y.at("init"));
  EXPECT_EQ(x.at("first_batches"), y.at("first_batches"));
  EXPECT_NE(x.at("weights"), y.at("weights"));
}

}  // namespace
}  // namespace noisefloor
