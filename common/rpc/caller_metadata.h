// Names of what a call says of its caller, beside its message.
#pragma once

#include <string_view>

namespace noisefloor {

// "authorization: Bearer nfl_...": the caller's token.
inline constexpr std::string_view kTokenMetadata = "authorization";
inline constexpr std::string_view kTokenScheme = "Bearer ";
// What the caller says that its name is; believed where no token proves it.
inline constexpr std::string_view kUserMetadata = "noisefloor-user";

}  // namespace noisefloor
