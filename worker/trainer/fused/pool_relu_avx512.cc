// Compiled for AVX-512 (F and BW); called only where LibTorch, too, uses it.
#include <immintrin.h>

#include "worker/trainer/fused/pool_relu_rows.h"

namespace noisefloor::trainer {

namespace {

struct Block {
  template <bool kKeep>
  static void Forward(const float* a, const float* b, const float* c, const float* d, float* out,
                      uint8_t* winners) {
    __m512 most = _mm512_loadu_ps(a);
    __m512i winner = _mm512_setzero_si512();
    Take<kKeep>(b, 1, most, winner);
    Take<kKeep>(c, 2, most, winner);
    Take<kKeep>(d, 3, most, winner);
    // Of two zeros, and when one is a NaN, the second operand is taken.
    _mm512_storeu_ps(out, _mm512_max_ps(_mm512_setzero_ps(), most));
    if (!kKeep) return;
    const __mmask16 none = _mm512_cmp_ps_mask(most, _mm512_setzero_ps(), _CMP_LE_OQ);
    winner = _mm512_mask_mov_epi32(winner, none, _mm512_set1_epi32(kNoWinner));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(winners), _mm512_cvtepi32_epi8(winner));
  }

  static void Backward(const float* gradient, const uint8_t* winners, float* a, float* b, float* c,
                       float* d) {
    // A negative zero becomes a positive one.
    const __m512 value = _mm512_add_ps(_mm512_setzero_ps(), _mm512_loadu_ps(gradient));
    const __m512i winner =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(winners)));
    _mm512_storeu_ps(a, Of(0, winner, value));
    _mm512_storeu_ps(b, Of(1, winner, value));
    _mm512_storeu_ps(c, Of(2, winner, value));
    _mm512_storeu_ps(d, Of(3, winner, value));
  }

 private:
  template <bool kKeep>
  static void Take(const float* from, int place, __m512& most, __m512i& winner) {
    const __m512 value = _mm512_loadu_ps(from);
    const __mmask16 wins = _mm512_cmp_ps_mask(value, most, _CMP_GT_OQ) |
                           _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    most = _mm512_mask_mov_ps(most, wins, value);
    if (kKeep) winner = _mm512_mask_mov_epi32(winner, wins, _mm512_set1_epi32(place));
  }

  static __m512 Of(int place, __m512i winner, __m512 value) {
    return _mm512_maskz_mov_ps(_mm512_cmpeq_epi32_mask(winner, _mm512_set1_epi32(place)), value);
  }
};

}  // namespace

const PoolRelu kAvx512PoolRelu = {PoolReluRows<Block>::Forward, PoolReluRows<Block>::Backward};

}  // namespace noisefloor::trainer
