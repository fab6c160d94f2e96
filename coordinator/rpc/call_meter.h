// Sees every call of a server begin and end, and notes how long it took.
#pragma once

#include <memory>

#include "grpcpp/support/server_interceptor.h"

#include "coordinator/figures/call_figures.h"

namespace noisefloor {

// The figures outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallMeter(
    figures::CallFigures& figures);

// What CallFigures takes as a method: "CoordinatorService/GetSweep" of
// "/noisefloor.v1.CoordinatorService/GetSweep".
std::string_view ShortMethod(std::string_view path);

}  // namespace noisefloor
