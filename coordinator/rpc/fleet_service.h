// The service of pools.
#pragma once

#include <string>

#include "coordinator/pools/pool_keeper.h"
#include "coordinator/rpc/unary.h"
#include "noisefloor/v1/fleet_api.grpc.pb.h"

namespace noisefloor {

// Thread-safe. Borrows the keeper, which outlives the server. Changes are kept before they are
// told.
class FleetServiceImpl final : public v1::FleetService::CallbackService {
 public:
  FleetServiceImpl(PoolKeeper& keeper, const Clock& clock) : keeper_(keeper), clock_(clock) {}

  using grpc::Service::GetHandler;  // For its door.
  using Context = grpc::CallbackServerContext;

  Unary* AddPool(Context*, const v1::AddPoolRequest*, v1::AddPoolResponse*) override;
  Unary* ListPools(Context*, const v1::ListPoolsRequest*, v1::ListPoolsResponse*) override;
  Unary* UpdatePool(Context*, const v1::UpdatePoolRequest*, v1::UpdatePoolResponse*) override;
  Unary* RemovePool(Context*, const v1::RemovePoolRequest*, v1::RemovePoolResponse*) override;
  Unary* GetPoolLog(Context*, const v1::GetPoolLogRequest*, v1::GetPoolLogResponse*) override;

 private:
  PoolKeeper& keeper_;
  const Clock& clock_;
};

}  // namespace noisefloor
