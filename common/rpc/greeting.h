// Why a connection that could be made is of no use: one side wants TLS, or another certificate.
#pragma once

#include <string>

#include "common/rpc/address.h"

namespace noisefloor {

// Greets the server at `address` with TLS, once, through the proxy that the environment names, and
// says in words what is wrong with its answer, or that the proxy will not go there.
// `authority`: certificate (PEM) that the server's must be signed by; empty: we speak plain text.
// Empty when nobody answers, or nothing is wrong. Waits for at most some seconds. Any thread.
std::string WhyNotUnderstood(const Address& address, const std::string& authority);

}  // namespace noisefloor
