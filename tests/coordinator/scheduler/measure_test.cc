// Members that measure: nothing of data is asked of them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Join;
using test::kT0;
using test::Of;
using test::Submit;
using testing::HasSubstr;
using testing::Not;

// Of settings that read no data set, whose identity is known.
sweep::Sweep Content(int64_t steps) {
  sweep::SweepRequest request;
  request.name = "fleet";
  request.training = {{"measure.steps", steps}};
  request.noise.push_back({"impl", "", {}});
  request.hardware = sweep::HardwareKind::kList;
  request.classes = {"cpu"};
  return std::get<sweep::Sweep>(sweep::Resolve(request, {}));
}

SendStart StartOf(const sweep::Sweep& sweep) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(sweep), kT0);
  const auto starts = Of<SendStart>(scheduler.Step(Join(1, 1, "u1"), kT0));
  EXPECT_EQ(starts.size(), 1u);
  return starts.empty() ? SendStart{} : starts.front();
}

TEST(Measure, AMeasurementIsAskedForNoTestSetAndTiedToNoData) {
  const SendStart trains = StartOf(Content(0));
  EXPECT_TRUE(trains.write_evaluation_set);
  EXPECT_THAT(trains.specification, Not(HasSubstr(R"("identity":"")")));

  const SendStart measures = StartOf(Content(5));
  EXPECT_FALSE(measures.write_evaluation_set);
  EXPECT_THAT(measures.specification, HasSubstr(R"("identity":"")"));
}

}  // namespace
}  // namespace noisefloor::scheduler
