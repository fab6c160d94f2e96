#include "common/base/ids.h"

#include <charconv>

namespace noisefloor {

namespace {

// Takes `letter` and a decimal number without leading zeros off the front of `text`.
template <typename Number>
bool TakeNumber(std::string_view& text, char letter, Number& number) {
  if (text.size() < 2 || text[0] != letter) return false;
  if (text[1] == '0' && text.size() > 2 && text[2] >= '0' && text[2] <= '9') return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string ToText(SweepId id) { return "s" + std::to_string(id.value); }

std::string ToText(const MemberId& id) {
  return ToText(id.sweep) + "c" + std::to_string(id.cell) + "r" + std::to_string(id.replicate);
}

std::optional<SweepId> ParseSweepId(std::string_view text) {
  SweepId id;
  if (!TakeNumber(text, 's', id.value) || !text.empty()) return std::nullopt;
  return id;
}

std::optional<MemberId> ParseMemberId(std::string_view text) {
  MemberId id;
  const bool whole = TakeNumber(text, 's', id.sweep.value) && TakeNumber(text, 'c', id.cell) &&
                     TakeNumber(text, 'r', id.replicate) && text.empty();
  if (!whole) return std::nullopt;
  return id;
}

}  // namespace noisefloor
