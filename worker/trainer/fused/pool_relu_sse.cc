// For every x86-64 processor: SSE2 and nothing newer.
#include <emmintrin.h>

#include "worker/trainer/fused/pool_relu_rows.h"

namespace noisefloor::trainer {

namespace {

// A quarter of a block: four channels.
constexpr int64_t kQuarter = 4;

struct Block {
  template <bool kKeep>
  static void Forward(const float* a, const float* b, const float* c, const float* d, float* out,
                      uint8_t* winners) {
    __m128i quarters[4];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t at = i * kQuarter;
      quarters[i] = ForwardQuarter<kKeep>(a + at, b + at, c + at, d + at, out + at);
    }
    if (!kKeep) return;
    const __m128i all = _mm_packs_epi16(_mm_packs_epi32(quarters[0], quarters[1]),
                                        _mm_packs_epi32(quarters[2], quarters[3]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(winners), all);
  }

  static void Backward(const float* gradient, const uint8_t* winners, float* a, float* b, float* c,
                       float* d) {
    const __m128i winner = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winners));
    BackwardOf(0, winner, gradient, a);
    BackwardOf(1, winner, gradient, b);
    BackwardOf(2, winner, gradient, c);
    BackwardOf(3, winner, gradient, d);
  }

 private:
  // The winners, 32 bits each.
  template <bool kKeep>
  static __m128i ForwardQuarter(const float* a, const float* b, const float* c, const float* d,
                                float* out) {
    __m128 most = _mm_loadu_ps(a);
    __m128 winner = _mm_setzero_ps();
    Take<kKeep>(b, 1, most, winner);
    Take<kKeep>(c, 2, most, winner);
    Take<kKeep>(d, 3, most, winner);
    // Of two zeros, and when one is a NaN, the second operand is taken.
    _mm_storeu_ps(out, _mm_max_ps(_mm_setzero_ps(), most));
    const __m128 none = _mm_cmple_ps(most, _mm_setzero_ps());
    return _mm_castps_si128(Choose(none, Number(kNoWinner), winner));
  }

  template <bool kKeep>
  static void Take(const float* from, int place, __m128& most, __m128& winner) {
    const __m128 value = _mm_loadu_ps(from);
    const __m128 wins = _mm_or_ps(_mm_cmpgt_ps(value, most), _mm_cmpunord_ps(value, value));
    most = Choose(wins, value, most);
    if (kKeep) winner = Choose(wins, Number(place), winner);
  }

  static __m128 Choose(__m128 mask, __m128 yes, __m128 no) {
    return _mm_or_ps(_mm_and_ps(mask, yes), _mm_andnot_ps(mask, no));
  }

  // The integer's bits.
  static __m128 Number(int place) { return _mm_castsi128_ps(_mm_set1_epi32(place)); }

  // The 16 elements at one place of the window.
  static void BackwardOf(int place, __m128i winner, const float* gradient, float* to) {
    const __m128i wins = _mm_cmpeq_epi8(winner, _mm_set1_epi8(static_cast<char>(place)));
    const __m128i low = _mm_unpacklo_epi8(wins, wins);
    const __m128i high = _mm_unpackhi_epi8(wins, wins);
    const __m128i masks[4] = {_mm_unpacklo_epi16(low, low), _mm_unpackhi_epi16(low, low),
                              _mm_unpacklo_epi16(high, high), _mm_unpackhi_epi16(high, high)};
    for (int64_t i = 0; i < 4; ++i) {
      // A negative zero becomes a positive one.
      const __m128 value = _mm_add_ps(_mm_setzero_ps(), _mm_loadu_ps(gradient + i * kQuarter));
      _mm_storeu_ps(to + i * kQuarter, _mm_and_ps(_mm_castsi128_ps(masks[i]), value));
    }
  }
};

}  // namespace

const PoolRelu kSsePoolRelu = {PoolReluRows<Block>::Forward, PoolReluRows<Block>::Backward};

}  // namespace noisefloor::trainer
