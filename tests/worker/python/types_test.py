"""Every function of the package has types, and they fit."""

import os
import subprocess
import tempfile
import unittest

import member

PACKAGES = os.path.join(os.environ["NOISEFLOOR_SOURCE"], "worker/python")


class Types(unittest.TestCase):
    def test_they_fit(self) -> None:
        python = member.interpreter("mypy")
        if python is None:
            self.skipTest("no Python with mypy")
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(
                [*python, "-m", "mypy", "--strict", f"--cache-dir={cache}", "--namespace-packages",
                 "--explicit-package-bases", "--ignore-missing-imports",
                 # Of frameworks there are no types where this runs.
                 "--allow-subclassing-any", "--allow-untyped-decorators",
                 "--no-warn-unused-ignores", "-p", "noisefloor"],
                cwd=PACKAGES, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
