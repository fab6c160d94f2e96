#include "coordinator/rpc/method_rules.h"

#include <optional>

#include "google/protobuf/descriptor.h"

#include "common/base/check.h"
#include "noisefloor/v1/access.pb.h"
#include "noisefloor/v1/access_api.grpc.pb.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "noisefloor/v1/fleet_api.grpc.pb.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

MethodRules RulesOf(const std::vector<std::string>& services) {
  MethodRules rules;
  for (const std::string& name : services) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    NF_CHECK(service != nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      const auto needs = static_cast<uint32_t>(method.options().GetExtension(v1::needs));
      const std::optional<access::Role> role = access::RoleFrom(needs);
      if (role) rules["/" + name + "/" + method.name()] = *role;
    }
  }
  return rules;
}

std::vector<std::string> AllServices() {
  return {v1::AccessService::service_full_name(), v1::CoordinatorService::service_full_name(),
          v1::FleetService::service_full_name(), v1::WorkerService::service_full_name()};
}

}  // namespace noisefloor
