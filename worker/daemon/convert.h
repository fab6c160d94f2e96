// The daemon's values as protocol messages and back. Pure.
#pragma once

#include <vector>

#include "noisefloor/v1/worker_api.pb.h"
#include "worker/daemon/attempt_result.h"
#include "worker/slots/message.h"

namespace noisefloor {

v1::HeldLease ToProto(const slots::Held& held);
v1::RecordBatch ToProto(const RecordsEvent& event);
v1::Outcome ToProto(const AttemptResult& result);

v1::SessionRequest HeartbeatMessage(const std::vector<slots::Held>& held);
v1::SessionRequest StartedMessage(LeaseId lease, const std::string& data_identity, bool resumes);
v1::SessionRequest RecordsMessage(LeaseId lease, const RecordsEvent& event);
v1::SessionRequest FinishedMessage(LeaseId lease, const AttemptResult& result);
v1::SessionRequest DrainingMessage();

}  // namespace noisefloor
