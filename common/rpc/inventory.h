// A worker's inventory as a message. Pure.
#pragma once

#include "common/base/inventory.h"
#include "noisefloor/v1/common.pb.h"

namespace noisefloor {

v1::Inventory ToProto(const Inventory& inventory);

}  // namespace noisefloor
