// Compiled for AVX2; called only where LibTorch, too, uses it.
#include <immintrin.h>

#include "worker/trainer/fused/pool_relu_rows.h"

namespace noisefloor::trainer {

namespace {

// Half a block: eight channels.
constexpr int64_t kHalf = 8;

struct Block {
  template <bool kKeep>
  static void Forward(const float* a, const float* b, const float* c, const float* d, float* out,
                      uint8_t* winners) {
    const __m128i first = ForwardHalf<kKeep>(a, b, c, d, out);
    const __m128i second =
        ForwardHalf<kKeep>(a + kHalf, b + kHalf, c + kHalf, d + kHalf, out + kHalf);
    if (!kKeep) return;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(winners), _mm_packs_epi16(first, second));
  }

  static void Backward(const float* gradient, const uint8_t* winners, float* a, float* b, float* c,
                       float* d) {
    BackwardHalf(gradient, winners, a, b, c, d);
    BackwardHalf(gradient + kHalf, winners + kHalf, a + kHalf, b + kHalf, c + kHalf, d + kHalf);
  }

 private:
  // The winners, 16 bits each.
  template <bool kKeep>
  static __m128i ForwardHalf(const float* a, const float* b, const float* c, const float* d,
                             float* out) {
    __m256 most = _mm256_loadu_ps(a);
    __m256 winner = _mm256_setzero_ps();
    Take<kKeep>(b, 1, most, winner);
    Take<kKeep>(c, 2, most, winner);
    Take<kKeep>(d, 3, most, winner);
    // Of two zeros, and when one is a NaN, the second operand is taken.
    _mm256_storeu_ps(out, _mm256_max_ps(_mm256_setzero_ps(), most));
    const __m256 none = _mm256_cmp_ps(most, _mm256_setzero_ps(), _CMP_LE_OQ);
    const __m256i all = _mm256_castps_si256(_mm256_blendv_ps(winner, Number(kNoWinner), none));
    return _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  }

  static void BackwardHalf(const float* gradient, const uint8_t* winners, float* a, float* b,
                           float* c, float* d) {
    // A negative zero becomes a positive one.
    const __m256 value = _mm256_add_ps(_mm256_setzero_ps(), _mm256_loadu_ps(gradient));
    const __m256i winner =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(winners)));
    _mm256_storeu_ps(a, Of(0, winner, value));
    _mm256_storeu_ps(b, Of(1, winner, value));
    _mm256_storeu_ps(c, Of(2, winner, value));
    _mm256_storeu_ps(d, Of(3, winner, value));
  }

  template <bool kKeep>
  static void Take(const float* from, int place, __m256& most, __m256& winner) {
    const __m256 value = _mm256_loadu_ps(from);
    const __m256 wins = _mm256_or_ps(_mm256_cmp_ps(value, most, _CMP_GT_OQ),
                                     _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    most = _mm256_blendv_ps(most, value, wins);
    if (kKeep) winner = _mm256_blendv_ps(winner, Number(place), wins);
  }

  // The integer's bits, as blends of floats take them.
  static __m256 Number(int place) { return _mm256_castsi256_ps(_mm256_set1_epi32(place)); }

  static __m256 Of(int place, __m256i winner, __m256 value) {
    const __m256i wins = _mm256_cmpeq_epi32(winner, _mm256_set1_epi32(place));
    return _mm256_and_ps(_mm256_castsi256_ps(wins), value);
  }
};

}  // namespace

const PoolRelu kAvx2PoolRelu = {PoolReluRows<Block>::Forward, PoolReluRows<Block>::Backward};

}  // namespace noisefloor::trainer
