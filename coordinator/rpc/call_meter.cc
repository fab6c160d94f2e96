#include "coordinator/rpc/call_meter.h"

#include "absl/time/time.h"

#include "common/base/clock.h"

namespace noisefloor {

namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

class CallMeter final : public grpc::experimental::Interceptor {
 public:
  CallMeter(figures::CallFigures& figures, const char* method)
      : figures_(figures), method_(method), begun_(SystemClock().Steady()) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      figures_.Note(ShortMethod(method_), methods->GetSendStatus().error_code(),
                    absl::ToDoubleSeconds(SystemClock().Steady() - begun_));
    }
    methods->Proceed();
  }

 private:
  figures::CallFigures& figures_;
  const char* const method_;
  const absl::Duration begun_;
};

class CallMeters final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallMeters(figures::CallFigures& figures) : figures_(figures) {}

  // gRPC owns what it is given.
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new CallMeter(figures_, info->method());
  }

 private:
  figures::CallFigures& figures_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallMeter(
    figures::CallFigures& figures) {
  return std::make_unique<CallMeters>(figures);
}

std::string_view ShortMethod(std::string_view path) {
  constexpr std::string_view kPackage = "/noisefloor.v1.";
  return path.starts_with(kPackage) ? path.substr(kPackage.size()) : path;
}

}  // namespace noisefloor
