// Seeded noise of a stated size: DialDraws of worker/trainer/noise/draws.h, with the normal draws
// of worker/trainer/noise/normal.cc.
#pragma once

#include "worker/trainer/cuda/kernels/common.cuh"

namespace noisefloor::cuda {

// Numerators and denominators of AS 241, of the powers 0 to 7: the centre's, then the tails'.
static __constant__ double kNormal[4][8] = {
    {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
     3.3430575583588128105e+4, 2.5090809287301226727e+3},
    {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
     2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
     5.2264952788528545610e+3},
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};

static __device__ double Polynomial(int which, double x) {
  double sum = kNormal[which][7];
  for (int power = 6; power >= 0; --power) sum = sum * x + kNormal[which][power];
  return sum;
}

static __device__ double LogOf(double x) {
  const U64 bits = static_cast<U64>(__double_as_longlong(x));
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double mantissa =
      __longlong_as_double(static_cast<I64>((bits & ((U64{1} << 52) - 1)) | (U64{1022} << 52)));
  if (mantissa < 0.707106781186547524400844362105) {
    mantissa = mantissa * 2.0;
    exponent = exponent - 1;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 1.0 / 21.0;
  for (int odd = 19; odd >= 1; odd -= 2) sum = sum * square + 1.0 / static_cast<double>(odd);
  return static_cast<double>(exponent) * 0.693147180559945309417232121458 + 2.0 * s * sum;
}

static __device__ float NormalOf(U32 word) {
  const double p = (static_cast<double>(word) + 0.5) / 4294967296.0;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return static_cast<float>(q * Polynomial(0, r) / Polynomial(1, r));
  }
  const double tail = q < 0.0 ? p : 1.0 - p;
  const double r = sqrt(-LogOf(tail)) - 1.6;
  const double value = Polynomial(2, r) / Polynomial(3, r);
  return static_cast<float>(q < 0.0 ? -value : value);
}

}  // namespace noisefloor::cuda

extern "C" __global__ void Dial(const noisefloor::cuda::DialArguments a) {
  using namespace noisefloor::cuda;
  for (U64 b = FirstOfGrid(); b < (a.count + 3) / 4; b += StrideOfGrid()) {
    const Words words = PhiloxBlock(a.seed, a.stream, (a.step << 36) + b);
    for (U32 w = 0; w < 4 && 4 * b + w < a.count; ++w) {
      const float value = a.values[4 * b + w];
      a.values[4 * b + w] = value + a.size * value * NormalOf(words.word[w]);
    }
  }
}
