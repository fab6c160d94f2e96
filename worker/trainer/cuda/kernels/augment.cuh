// From the bytes of resident images to what a network sees: Augmenter's, bit for bit.
#pragma once

#include "worker/trainer/cuda/kernels/common.cuh"

namespace noisefloor::cuda {

// What becomes of one image; rows and columns are those of the result.
struct ImagePlan {
  int row_shift, column_shift;  // Row y shows row y + row_shift of the image, or the frame.
  int flip;
  int cut_top, cut_bottom, cut_left, cut_right;  // Half open.
};

static __device__ int Least(int a, int b) { return a < b ? a : b; }
static __device__ int Most(int a, int b) { return a > b ? a : b; }
static __device__ int Between(int value, int low, int high) {
  return Most(low, Least(value, high));
}

static __device__ ImagePlan PlanOf(const AugmentArguments& a, U64 key) {
  ImagePlan plan{0, 0, 0, 0, 0, 0, 0};
  if (a.random == 0) return plan;
  const Words first = PhiloxBlock(a.seed, a.epoch, 2 * key);
  const int padding = static_cast<int>(a.crop_padding);
  if (padding > 0) {
    plan.row_shift = static_cast<int>(Below(first.word[0], 2 * a.crop_padding + 1)) - padding;
    plan.column_shift = static_cast<int>(Below(first.word[1], 2 * a.crop_padding + 1)) - padding;
  }
  plan.flip = a.flip != 0 && (first.word[2] >> 31) != 0;
  if (a.cutout > 0) {
    const Words second = PhiloxBlock(a.seed, a.epoch, 2 * key + 1);
    const int side = static_cast<int>(a.cutout);
    const int top = static_cast<int>(Below(second.word[0], a.height)) - side / 2;
    const int left = static_cast<int>(Below(second.word[1], a.width)) - side / 2;
    plan.cut_top = Most(0, top);
    plan.cut_bottom = Least(static_cast<int>(a.height), top + side);
    plan.cut_left = Most(0, left);
    plan.cut_right = Least(static_cast<int>(a.width), left + side);
  }
  return plan;
}

// The sums of v and v * v over what is visible of the image; for each thread.
static __device__ Pair SumsOf(const AugmentArguments& a, const U8* image, const ImagePlan& plan,
                              U64* room) {
  const int height = static_cast<int>(a.height), width = static_cast<int>(a.width);
  const int first_row = Between(plan.row_shift, 0, height);
  const int first_column = Between(plan.column_shift, 0, width);
  const U32 rows = static_cast<U32>(Between(height + plan.row_shift, 0, height) - first_row);
  const U32 columns = static_cast<U32>(Between(width + plan.column_shift, 0, width) - first_column);
  U64 sum = 0, squares = 0;
  for (U32 i = threadIdx.x; i < a.channels * rows * columns; i += blockDim.x) {
    const U32 x = static_cast<U32>(first_column) + i % columns;
    const U32 y = static_cast<U32>(first_row) + i / columns % rows;
    const U32 v = image[(i / columns / rows * a.height + y) * a.width + x];
    sum += v;
    squares += U64{v * v};
  }
  return SumOfBlock(sum, squares, room);
}

// Thread t writes the values of the bytes t, t + block, …
static __device__ void FillTable(const AugmentArguments& a, const U8* image, const ImagePlan& plan,
                                 U64* room, float* table) {
  if (a.standardise == 0) {
    for (U32 v = threadIdx.x; v < 256; v += blockDim.x) table[v] = static_cast<float>(v) / 255.0f;
    return;
  }
  const Pair sums = SumsOf(a, image, plan, room);
  const I64 n = static_cast<I64>(a.channels) * a.height * a.width;
  const I64 sum = static_cast<I64>(sums.a);
  const double count = static_cast<double>(n);
  const double mean = static_cast<double>(sum) / (255.0 * count);
  const double spread = static_cast<double>(n * static_cast<I64>(sums.b) - sum * sum);
  const double deviation = sqrt(spread) / (255.0 * count);
  const double least = 1.0 / sqrt(count);
  const double divisor = deviation < least ? least : deviation;
  for (U32 v = threadIdx.x; v < 256; v += blockDim.x) {
    table[v] = static_cast<float>((static_cast<double>(v) / 255.0 - mean) / divisor);
  }
}

static __device__ float ValueAt(const AugmentArguments& a, const U8* image, const ImagePlan& plan,
                                const float* table, U32 channel, int y, int x) {
  const int height = static_cast<int>(a.height), width = static_cast<int>(a.width);
  if (y >= plan.cut_top && y < plan.cut_bottom && x >= plan.cut_left && x < plan.cut_right) {
    return 0.0f;
  }
  const int row = y + plan.row_shift;
  const int column = (plan.flip ? width - 1 - x : x) + plan.column_shift;
  if (row < 0 || row >= height || column < 0 || column >= width) return table[0];
  return table[image[(channel * a.height + static_cast<U32>(row)) * a.width +
                     static_cast<U32>(column)]];
}

}  // namespace noisefloor::cuda

extern "C" __global__ void AugmentImages(const noisefloor::cuda::AugmentArguments a) {
  using namespace noisefloor::cuda;
  __shared__ U64 room[2 * kMostWarps];
  __shared__ float table[256];
  const U32 example = a.examples[blockIdx.x];
  const U32 pixels = a.channels * a.height * a.width;
  const U8* image = a.images + U64{example} * pixels;
  const ImagePlan plan =
      PlanOf(a, a.by_position != 0 ? a.first_position + blockIdx.x : U64{example});
  FillTable(a, image, plan, room, table);
  __syncthreads();
  float* out = a.out + U64{blockIdx.x} * pixels;
  const U32 area = a.height * a.width;
  for (U32 i = threadIdx.x; i < pixels; i += blockDim.x) {
    const U32 channel = a.channels_last != 0 ? i % a.channels : i / area;
    const U32 place = a.channels_last != 0 ? i / a.channels : i % area;
    out[i] = ValueAt(a, image, plan, table, channel, static_cast<int>(place / a.width),
                     static_cast<int>(place % a.width));
  }
  if (threadIdx.x == 0) a.out_labels[blockIdx.x] = a.labels[example];
}
