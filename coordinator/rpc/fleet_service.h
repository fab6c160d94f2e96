// The service of pools.
#pragma once

#include <cstddef>
#include <string>

#include "coordinator/pools/pool_keeper.h"
#include "coordinator/query/work_queue.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/unary.h"
#include "noisefloor/v1/fleet_api.grpc.pb.h"

namespace noisefloor {

// Thread-safe. Borrows what it is given; all of it outlives the server. Changes are kept before
// they are told. Logs lie on disks of the cluster, which may take their time: they are read on a
// thread of its own, and answered until this is destroyed, after the server.
class FleetServiceImpl final : public v1::FleetService::CallbackService {
 public:
  FleetServiceImpl(PoolKeeper& keeper, const Clock& clock, const AccessBook& access)
      : keeper_(keeper), clock_(clock), access_(access) {}

  using grpc::Service::GetHandler;  // For its door.
  using Context = grpc::CallbackServerContext;

  Unary* AddPool(Context*, const v1::AddPoolRequest*, v1::AddPoolResponse*) override;
  Unary* ListPools(Context*, const v1::ListPoolsRequest*, v1::ListPoolsResponse*) override;
  Unary* UpdatePool(Context*, const v1::UpdatePoolRequest*, v1::UpdatePoolResponse*) override;
  Unary* RemovePool(Context*, const v1::RemovePoolRequest*, v1::RemovePoolResponse*) override;
  Unary* GetPoolLog(Context*, const v1::GetPoolLogRequest*, v1::GetPoolLogResponse*) override;

 private:
  static constexpr size_t kMostWaiting = 16;  // Logs that wait to be read.

  bool MayAdd(const Context& context) const;

  PoolKeeper& keeper_;
  const Clock& clock_;
  const AccessBook& access_;
  query::WorkQueue logs_{1, kMostWaiting};
};

}  // namespace noisefloor
