// What is made of a profile and of oneDNN's verbose output.
#include "worker/trainer/torch/facts/kernel_times.h"

#include <gtest/gtest.h>

namespace noisefloor::trainer {
namespace {

TEST(KernelTimesTest, AnOperationHasTheTimeThatThoseWithinItHaveNot) {
  // conv [0, 100) calls copy [10, 30) and kernel [40, 90), which calls copy [50, 55); elsewhere and
  // at the same time a copy [20, 27).
  const std::vector<KernelTime> times = OwnTimes({{"copy", 1, 50, 55},
                                                  {"conv", 1, 0, 100},
                                                  {"copy", 1, 10, 30},
                                                  {"kernel", 1, 40, 90},
                                                  {"copy", 2, 20, 27},
                                                  {"conv", 1, 100, 104}});
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].name, "kernel");
  EXPECT_EQ(times[0].launches, 1);
  EXPECT_DOUBLE_EQ(times[0].seconds, 45e-9);
  EXPECT_EQ(times[1].name, "conv");
  EXPECT_EQ(times[1].launches, 2);
  EXPECT_DOUBLE_EQ(times[1].seconds, 34e-9);
  EXPECT_EQ(times[2].name, "copy");
  EXPECT_EQ(times[2].launches, 3);
  EXPECT_DOUBLE_EQ(times[2].seconds, 32e-9);
}

TEST(KernelTimesTest, ACallThatBeginsWithItsCallerIsWithinIt) {
  const std::vector<KernelTime> times = OwnTimes({{"inner", 1, 0, 8}, {"outer", 1, 0, 10}});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[0].seconds, 8e-9);
  EXPECT_DOUBLE_EQ(times[1].seconds, 2e-9);
}

TEST(KernelTimesTest, PrimitivesAreThoseThatWereRun) {
  const std::string output =
      "onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)\n"
      "onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with AMX\n"
      "onednn_verbose,v1,primitive,create,cpu,convolution,jit:avx512_core,forward_training,src,9\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,"
      "forward_training,src:f32::blocked:acdb::f0,,alg:convolution_direct,mb8_ic3oc16,0.25\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,"
      "forward_training,src:f32::blocked:acdb::f0,,alg:convolution_direct,mb8_ic3oc16,0.5\n"
      "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32,,,16x3x3x3,1\n"
      "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32,,,16x3x3x3,soon\n"
      "onednn_verbose,v1,primitive,exec,cpu\n";
  const std::vector<KernelTime> times = ParsePrimitives(output);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0], (KernelTime{"reorder jit:uni undef", 1, 1e-3}));
  EXPECT_EQ(times[1].name, "convolution brg_conv_fwd:avx512_core forward_training");
  EXPECT_EQ(times[1].launches, 2);
  EXPECT_DOUBLE_EQ(times[1].seconds, 0.75e-3);
}

TEST(KernelTimesTest, OfNothingThereIsNothing) {
  EXPECT_TRUE(OwnTimes({}).empty());
  EXPECT_TRUE(ParsePrimitives("").empty());
}

}  // namespace
}  // namespace noisefloor::trainer
