"""Asks a coordinator for what it refuses, and prints what Python's grpc_status finds in each answer.

    PYTHONPATH=GRPC:GENERATED refusals.py HOST:PORT     one line of JSON for each refusal
"""
import json
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from noisefloor.v1 import coordinator_api_pb2 as api

SERVICE = "/noisefloor.v1.CoordinatorService/"
BAD_FILE = "name: a\nnoise: [control]\nhardware: [cpu-amd-avx2]\ntrain: {epochs: -1}\nreplicates: 1\n"


def refusal(channel, method, request):
    """The status of a call that is to fail, as values."""
    call = channel.unary_unary(
        SERVICE + method,
        request_serializer=type(request).SerializeToString,
        response_deserializer=bytes,
    )
    try:
        call(request, timeout=60)
    except grpc.RpcError as error:
        status = rpc_status.from_call(error)
        if status is None:
            return {"method": method, "code": error.code().name, "details": error.details()}
        told = {"method": method, "code": error.code().name, "message": status.message}
        for detail in status.details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info):
                told["reason"], told["domain"] = info.reason, info.domain
                told["metadata"] = dict(info.metadata)
            elif detail.Unpack(bad):
                told["fields"] = {one.field: one.description for one in bad.field_violations}
        return told
    return {"method": method, "code": "OK"}


def main():
    with grpc.insecure_channel(sys.argv[1]) as channel:
        for method, request in (
            ("GetSweep", api.GetSweepRequest(sweep_id=7)),
            ("SubmitSweep", api.SubmitSweepRequest(file=BAD_FILE)),
            ("ListSettings", api.ListSettingsRequest(stack="forest")),
            ("ListSweeps", api.ListSweepsRequest()),
        ):
            print(json.dumps(refusal(channel, method, request)), flush=True)


if __name__ == "__main__":
    main()
