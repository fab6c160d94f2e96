"""Every function of the packages has types, and they fit."""

import os
import subprocess
import tempfile
import unittest

import member

PACKAGES = ("member", "conform", "client")


USER = """\
import noisefloor.client as nf
client = nf.Client()
reveal_type(client.submit("a.yaml", priority=1))
reveal_type(client.members())
client.submit(1)
client.members(order=3)
async def later() -> None:
    reveal_type(await nf.AsyncClient().members())
"""


class Types(unittest.TestCase):
    def setUp(self) -> None:
        self.python = member.interpreter("mypy")
        if self.python is None:
            self.skipTest("no Python with mypy")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            [*self.python, "-m", "mypy", "--strict", f"--cache-dir={self.folder}/cache",
             "--namespace-packages", "--explicit-package-bases", "--ignore-missing-imports",
             # Of frameworks there are no types where this runs.
             "--allow-subclassing-any", "--allow-untyped-decorators", "--no-warn-unused-ignores",
             *words], env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}, cwd=self.folder,
            capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_they_fit(self) -> None:
        code, said = self.check(*[word for name in PACKAGES for word in ("-p", f"noisefloor.{name}")])
        self.assertEqual(code, 0, said)

    def test_who_calls_the_client_is_told(self) -> None:
        with open(os.path.join(self.folder, "user.py"), "w", encoding="utf-8") as file:
            file.write(USER)
        code, said = self.check("user.py")
        self.assertEqual(code, 1)
        for line in ('3: note: Revealed type is "noisefloor.client.values.Submitted"',
                     '4: note: Revealed type is "list[noisefloor.client.values.Member]"',
                     '5: error: Argument 1', '6: error: Unexpected keyword argument "order"',
                     '8: note: Revealed type is "list[noisefloor.client.values.Member]"'):
            self.assertIn(f"user.py:{line}", said)
        self.assertIn("Found 2 errors", said)


if __name__ == "__main__":
    unittest.main()
