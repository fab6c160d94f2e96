#include "worker/trainer/noise/normal.h"

#include <array>
#include <bit>
#include <cmath>

namespace noisefloor::trainer {

namespace {

using Coefficients = std::array<double, 8>;  // Of the powers 0 to 7.

double Horner(const Coefficients& coefficients, double x) {
  double sum = coefficients[7];
  for (int power = 6; power >= 0; --power) {
    sum = sum * x + coefficients[static_cast<size_t>(power)];
  }
  return sum;
}

// Numerator and denominator for |p - 1/2| <= 0.425.
constexpr Coefficients kCentreTop = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                     1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                     4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                     3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr Coefficients kCentreBottom = {1.0,
                                        4.2313330701600911252e+1,
                                        6.8718700749205790830e+2,
                                        5.3941960214247511077e+3,
                                        2.1213794301586595867e+4,
                                        3.9307895800092710610e+4,
                                        2.8729085735721942674e+4,
                                        5.2264952788528545610e+3};
// For the tails as far as exp(-25), which 2^-33 does not reach.
constexpr Coefficients kTailTop = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                   5.76949722146069140550e0,  3.64784832476320460504e0,
                                   1.27045825245236838258e0,  2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr Coefficients kTailBottom = {1.0,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};

}  // namespace

double PortableLog(double x) {
  constexpr double kLn2 = 0.693147180559945309417232121458;
  constexpr double kSqrtHalf = 0.707106781186547524400844362105;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  constexpr uint64_t kHalfExponent = uint64_t{1022} << 52;
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  double mantissa = std::bit_cast<double>((bits & kMantissa) | kHalfExponent);  // [1/2, 1)
  if (mantissa < kSqrtHalf) {
    mantissa = mantissa * 2.0;
    exponent = exponent - 1;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 1.0 / 21.0;
  for (int odd = 19; odd >= 1; odd -= 2) sum = sum * square + 1.0 / static_cast<double>(odd);
  return static_cast<double>(exponent) * kLn2 + 2.0 * s * sum;
}

double InverseNormal(double p) {
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Horner(kCentreTop, r) / Horner(kCentreBottom, r);
  }
  const double tail = q < 0.0 ? p : 1.0 - p;
  const double r = std::sqrt(-PortableLog(tail)) - 1.6;
  const double value = Horner(kTailTop, r) / Horner(kTailBottom, r);
  return q < 0.0 ? -value : value;
}

}  // namespace noisefloor::trainer
