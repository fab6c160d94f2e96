"""What `noisefloor fleet manifest --kubernetes` prints is what Kubernetes takes, and is safe."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from typing import Any

import kubernetes_validate
import yaml

PROGRAM = os.path.join(os.environ["NOISEFLOOR_BIN"], "noisefloor")
VERSIONS = ("1.26", "1.28", "1.30", "1.31", "1.34", "1.37")
BASE = ("--kubernetes", "--image=registry.example/noisefloor:0.2")
ALL = (*BASE, "--gpu=NVIDIA-A100-SXM4-40GB", "--gpus=2", "--max=3", "--namespace=lab-1", "--cpus=8",
       "--memory=64Gi", "--scratch=100Gi", "--time=4h", "--drain-before=10m", "--idle=2m",
       "--grace=90s", "--class=nvidia-a100-sxm4-40gb", "--user=2000",
       "--worker=--slots-per-gpu=2", "--node-selector=topology.kubernetes.io/zone=a",
       "--env=HTTPS_PROXY=http://proxy:3128", "--access-secret=workers", "--pull-secret=registry",
       "--data-claim=sets", "--checkpoints-claim=kept", "--volume=code:/code:ro",
       "--volume=out:/out")
# Each of them is another thing, or none, to a reader of YAML that sees it without quotes.
NASTY = ("yes", "12", "1e3", "a: b", "x #y", "'", '"', "\\n", "{a}", "*a", "$(POD_NAME)", "`id`",
         "\u00fc\u4e2d\U0001f600", "- a", "~", "%d", "a,b;c", "--")


def printed(*words: str, code: int = 0, form: str = "table") -> str:
    done = subprocess.run([PROGRAM, f"--output={form}", "fleet", "manifest", *words],
                          capture_output=True, text=True, env={"PATH": "/usr/bin", "HOME": "/none"})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def jobs(*words: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(printed("a100", *words)))


class Schema(unittest.TestCase):
    def check(self, documents: list[dict[str, Any]]) -> None:
        for version in VERSIONS:
            for document in documents:
                kubernetes_validate.validate(document, version, strict=True)

    def test_every_version_since_1_26_takes_it(self) -> None:
        self.check(jobs(*BASE))
        self.check(jobs(*ALL))
        self.assertEqual(len(jobs(*ALL)), 3)

    def test_an_unknown_field_would_be_seen(self) -> None:
        job = jobs(*BASE)[0]
        job["spec"]["template"]["spec"]["restartPolicies"] = "Never"
        with self.assertRaises(kubernetes_validate.ValidationError):
            self.check([job])
        job = jobs(*BASE)[0]
        job["spec"]["backoffLimit"] = "6"
        with self.assertRaises(kubernetes_validate.ValidationError):
            self.check([job])

    def test_the_same_as_json(self) -> None:
        listed = json.loads(printed("a100", *ALL, form="json"))
        self.assertEqual((listed["kind"], listed["apiVersion"]), ("List", "v1"))
        self.assertEqual(listed["items"], jobs(*ALL))

    def test_nasty_values_come_through_as_they_are(self) -> None:
        words = [f"--env=V{i}={text}" for i, text in enumerate(NASTY)]
        words += [f"--worker=--trainer=t{i}={text}" for i, text in enumerate(NASTY)]
        documents = jobs(*BASE, *words)
        self.check(documents)
        container = documents[0]["spec"]["template"]["spec"]["containers"][0]
        env = {one["name"]: one.get("value") for one in container["env"]}
        for i, text in enumerate(NASTY):
            literal = text.replace("$", "$$")
            self.assertEqual(env[f"V{i}"], literal)
            self.assertIn(f"--trainer=t{i}={literal}", container["args"])


class Safety(unittest.TestCase):
    def setUp(self) -> None:
        self.jobs = jobs(*ALL)
        self.pods = [job["spec"]["template"]["spec"] for job in self.jobs]

    def test_a_worker_is_nobody_and_writes_nowhere_but_in_its_own_folders(self) -> None:
        for pod in self.pods:
            self.assertIs(pod["automountServiceAccountToken"], False)
            self.assertIs(pod["enableServiceLinks"], False)
            who = pod["securityContext"]
            self.assertIs(who["runAsNonRoot"], True)
            self.assertEqual({who[key] for key in ("runAsUser", "runAsGroup", "fsGroup")}, {2000})
            self.assertEqual(who["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertFalse({"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & pod.keys())
            container, = pod["containers"]
            rights = container["securityContext"]
            self.assertEqual(rights, {"allowPrivilegeEscalation": False,
                                      "readOnlyRootFilesystem": True,
                                      "capabilities": {"drop": ["ALL"]}})
            self.assertFalse(any("hostPath" in volume for volume in pod["volumes"]))
            writable = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]
                        if not mount.get("readOnly")}
            self.assertEqual(set(writable), {"/var/lib/noisefloor", "/tmp", "/dev/shm",
                                             "/checkpoints", "/out"})
            kinds = {volume["name"]: volume for volume in pod["volumes"]}
            self.assertEqual(kinds.keys(), {mount["name"] for mount in container["volumeMounts"]})
            for path in ("/var/lib/noisefloor", "/tmp"):
                self.assertEqual(kinds[writable[path]]["emptyDir"], {"sizeLimit": "100Gi"})

    def test_the_token_is_in_a_file_of_a_secret_and_nowhere_else(self) -> None:
        for pod in self.pods:
            container = pod["containers"][0]
            secret, = [volume for volume in pod["volumes"] if "secret" in volume]
            self.assertEqual(secret["secret"], {
                "secretName": "workers", "defaultMode": 0o440,
                "items": [{"key": "worker.access", "path": "worker.access"}]})
            mount, = [one for one in container["volumeMounts"] if one["name"] == secret["name"]]
            self.assertIs(mount["readOnly"], True)
            env = {one["name"]: one for one in container["env"]}
            self.assertEqual(env["NOISEFLOOR_ACCESS"]["value"], mount["mountPath"])
            self.assertNotIn("secretKeyRef", json.dumps(pod))
            self.assertNotIn("envFrom", container)

    def test_it_goes_where_its_gpu_is_and_gets_it_alone(self) -> None:
        for pod in self.pods:
            self.assertEqual(pod["nodeSelector"],
                             {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
                              "topology.kubernetes.io/zone": "a"})
            resources = pod["containers"][0]["resources"]
            self.assertEqual(resources["limits"],
                             {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": 2})
            self.assertEqual(resources["requests"], resources["limits"])
        plain = jobs(*BASE)[0]["spec"]["template"]["spec"]
        self.assertNotIn("nodeSelector", plain)
        self.assertNotIn("nvidia.com/gpu", plain["containers"][0]["resources"]["limits"])

    def test_what_others_did_to_it_does_not_count_and_what_is_hopeless_ends(self) -> None:
        for number, job in enumerate(self.jobs):
            self.assertEqual(job["metadata"]["name"], f"a100-{number}")
            self.assertEqual(job["metadata"]["namespace"], "lab-1")
            self.assertEqual(job["metadata"]["labels"]["noisefloor-pool"], "a100")
            spec = job["spec"]
            taken, hopeless = spec["podFailurePolicy"]["rules"]
            self.assertEqual((taken["action"], taken["onPodConditions"][0]["type"]),
                             ("Ignore", "DisruptionTarget"))
            self.assertEqual((hopeless["action"], hopeless["onExitCodes"]["values"]),
                             ("FailJob", [1, 2]))
            self.assertEqual(hopeless["onExitCodes"]["containerName"],
                             spec["template"]["spec"]["containers"][0]["name"])
            # Kubernetes wants this of a job with such a policy.
            self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")
            self.assertNotIn("activeDeadlineSeconds", spec, "it would count while a pod waits")

    def test_the_time_it_has_to_end_is_longer_than_what_it_needs(self) -> None:
        for pod in self.pods:
            args = dict(arg.lstrip("-").split("=", 1) for arg in pod["containers"][0]["args"]
                        if "=" in arg)
            needs = int(args["drain-timeout"]) + 2 * int(args["grace"])
            self.assertEqual(int(args["grace"]), 90)
            self.assertGreater(pod["terminationGracePeriodSeconds"], needs)
            self.assertEqual(pod["activeDeadlineSeconds"], 4 * 3600 + 1800)
            self.assertEqual(int(args["leave-after"]), 4 * 3600 - 600)
            self.assertEqual(int(args["idle-timeout"]), 120)


class Words(unittest.TestCase):
    def test_the_commands_beside_it_are_comments(self) -> None:
        head = printed("a100", *ALL, "--access=/x/worker.access").split("---\n")[0]
        self.assertTrue(all(line.startswith("# ") for line in head.splitlines()), head)
        self.assertIn("kubectl create secret generic workers --namespace=lab-1 "
                      "--from-file=worker.access=/x/worker.access", head)

    def test_mistakes_are_named(self) -> None:
        for words, said in (
                (("A100", *BASE), "name: expected lower-case letters"),
                (("a100", "--kubernetes"), "--image=: expected an image"),
                (("a100", *BASE, "--max=0"), "--max=0: expected 1 to 1000"),
                (("a100", *BASE, "--cpus=4GB"), "--cpus=4GB: expected"),
                (("a100", *BASE, "--time=1m"), "--drain-before=120s: expected less than --time"),
                (("a100", *BASE, "--env=A"), "--env=A: expected NAME=VALUE"),
                (("a100", *BASE, "--env=T=nfl_worker_00"), "--env: holds a token"),
                (("a100", *BASE, "--volume=c"), "--volume=c: expected CLAIM:/PATH"),
                (("a100",), "expected --kubernetes or --systemd")):
            self.assertIn(said, printed(*words, code=1))
        self.assertNotIn("nfl_", printed("a100", *BASE, "--env=T=nfl_worker_00", code=1))
        self.assertIn("--image requires --kubernetes", printed("a100", "--image=x", code=2))


if __name__ == "__main__":
    unittest.main()
