// Tokens: decided elsewhere, kept like everything else, and said who did it.
#include "coordinator/scheduler/handlers.h"

namespace noisefloor::scheduler {

namespace {

std::string TokenText(uint64_t number, const std::string& identity) {
  return "token " + std::to_string(number) + " of " + identity;
}

}  // namespace

void On(Turn& turn, const TokenAdded& event) {
  const access::TokenRecord& token = event.token;
  turn.Keep(KeepToken{token});
  turn.Happened(std::nullopt, "token_added",
                TokenText(token.number, token.identity) + ", " +
                    std::string(access::Name(token.role)) + ", added",
                event.caller);
  turn.Tell(AnswerCount{event.request, 1});
}

void On(Turn& turn, const TokensRevoked& event) {
  for (const uint64_t number : event.tokens) {
    turn.Keep(RevokeToken{number, turn.now});
    turn.Happened(std::nullopt, "token_revoked", TokenText(number, event.identity) + " revoked",
                  event.caller);
  }
  turn.Tell(AnswerCount{event.request, static_cast<uint32_t>(event.tokens.size())});
}

}  // namespace noisefloor::scheduler
