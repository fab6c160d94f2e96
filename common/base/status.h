// absl::Status is how expected failures travel. The code says what the caller should do:
// Unavailable = try again, InvalidArgument = fix the input, FailedPrecondition = the system is in
// another state, ResourceExhausted = a limit, Internal = tell us.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace noisefloor {

// The same code with "context: " before the message. OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// An error of the given code; `message` names the thing and its value.
absl::Status MakeError(absl::StatusCode code, std::string_view message);
absl::Status InvalidInput(std::string_view message);

// The status's message as the std type.
std::string Message(const absl::Status& status);

}  // namespace noisefloor

#define NF_RETURN_IF_ERROR(expression)                                            \
  do {                                                                            \
    if (absl::Status nf_status = (expression); !nf_status.ok()) return nf_status; \
  } while (false)

#define NF_CONCAT_INNER(a, b) a##b
#define NF_CONCAT(a, b) NF_CONCAT_INNER(a, b)
#define NF_ASSIGN_OR_RETURN(declaration, expression) \
  NF_ASSIGN_OR_RETURN_INNER(NF_CONCAT(nf_result_, __LINE__), declaration, expression)
#define NF_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.status();                        \
  declaration = *std::move(result)
