#include "worker/trainer/noise/draws.h"

#include "common/base/check.h"
#include "worker/trainer/noise/normal.h"

namespace noisefloor::trainer {

namespace {

// Calls use(i, word) for the words first, first + 1, … of a stream whose blocks begin at `base`;
// each block is computed once.
template <typename Use>
void ForWords(const PhiloxStream& stream, uint64_t base, uint64_t first, size_t count, Use use) {
  size_t i = 0;
  for (; i < count && (first + i) % 4 != 0; ++i) {
    use(i, stream.Block(base + (first + i) / 4)[(first + i) % 4]);
  }
  for (; i + 4 <= count; i += 4) {
    const PhiloxCounter block = stream.Block(base + (first + i) / 4);
    for (size_t word = 0; word < 4; ++word) use(i + word, block[word]);
  }
  for (; i < count; ++i) use(i, stream.Block(base + (first + i) / 4)[(first + i) % 4]);
}

}  // namespace

void InitDraws::FillUniform(std::string_view parameter, float limit,
                            std::span<float> values) const {
  const PhiloxStream stream(seed_, StreamOf(parameter));
  ForWords(stream, 0, 0, values.size(), [&](size_t i, uint32_t word) {
    values[i] = (2.0f * UniformFloat(word) - 1.0f) * limit;
  });
}

void InitDraws::FillNormal(std::string_view parameter, float deviation,
                           std::span<float> values) const {
  const PhiloxStream stream(seed_, StreamOf(parameter));
  ForWords(stream, 0, 0, values.size(),
           [&](size_t i, uint32_t word) { values[i] = NormalFloat(word) * deviation; });
}

AugmentWords AugmentDraws::At(uint64_t epoch, uint64_t example, uint64_t position) const {
  const PhiloxStream stream(seed_, epoch);
  const uint64_t key = key_ == AugmentKey::kExample ? example : position;
  const PhiloxCounter first = stream.Block(2 * key);
  const PhiloxCounter second = stream.Block(2 * key + 1);
  return {first[0], first[1], first[2], second[0], second[1]};
}

void DropoutDraws::Fill(uint64_t step, std::string_view layer, double probability,
                        uint64_t first_element, std::span<float> mask) const {
  NF_CHECK(probability >= 0.0 && probability < 1.0);
  NF_CHECK(step < uint64_t{1} << 28);
  NF_CHECK(first_element + mask.size() <= uint64_t{1} << 38);
  const uint64_t threshold = static_cast<uint64_t>(probability * 4294967296.0);
  const float keep = static_cast<float>(1.0 / (1.0 - probability));
  const PhiloxStream stream(seed_, StreamOf(layer));
  ForWords(stream, step << 36, first_element, mask.size(),
           [&](size_t i, uint32_t word) { mask[i] = word < threshold ? 0.0f : keep; });
}

namespace {

// The float draw, whatever the gradient's type: a double holds it exactly.
template <typename T>
void Dial(const PhiloxStream& stream, uint64_t step, uint64_t first_element, T size,
          std::span<T> values) {
  NF_CHECK(step < uint64_t{1} << 28);
  NF_CHECK(first_element + values.size() <= uint64_t{1} << 38);
  ForWords(stream, step << 36, first_element, values.size(), [&](size_t i, uint32_t word) {
    values[i] = values[i] + size * values[i] * static_cast<T>(NormalFloat(word));
  });
}

}  // namespace

void DialDraws::Apply(uint64_t step, std::string_view parameter, uint64_t first_element, float size,
                      std::span<float> values) const {
  Dial(PhiloxStream(seed_, StreamOf(parameter)), step, first_element, size, values);
}

void DialDraws::Apply(uint64_t step, std::string_view parameter, uint64_t first_element,
                      double size, std::span<double> values) const {
  Dial(PhiloxStream(seed_, StreamOf(parameter)), step, first_element, size, values);
}

int64_t DrawThreads(uint64_t seed, std::span<const int64_t> choices) {
  NF_CHECK(!choices.empty());
  return choices[UniformBelow(Bits64(PhiloxStream(seed, 0).Block(0)), choices.size())];
}

}  // namespace noisefloor::trainer
