"""Which coordinator is meant, and what it lets in."""

import fcntl
import os
import tempfile
import unittest
from unittest import mock

import noisefloor.client as nf
import programs

FILE = "# noisefloor access file: keep it to yourself\ncoordinator {}\ntoken nfl_a_b\n-----BEGIN CERTIFICATE-----\nx\n"


class Finding(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        environment = mock.patch.dict(os.environ, {"HOME": self.folder})
        environment.start()
        self.addCleanup(environment.stop)
        for name in [name for name in os.environ if name.startswith("NOISEFLOOR_")]:
            del os.environ[name]

    def write(self, path: str, content: str) -> str:
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def hold(self, path: str, content: str) -> None:
        """As the coordinator of a data directory does while it serves."""
        file = open(self.write(path, content), encoding="utf-8")
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)

    def found(self, *words: str, **more: str) -> str:
        return nf.find_coordinator(*words, **more).address

    def test_the_first_that_says_so(self) -> None:
        with self.assertRaisesRegex(nf.NoCoordinator, "no coordinator is named"):
            self.found()
        self.write(".config/noisefloor/access/reader.access", FILE.format("usual:1"))
        self.assertEqual(self.found(), "usual:1")
        self.write(".config/noisefloor/access/submitter.access", FILE.format("usual:2"))
        self.assertEqual(self.found(), "usual:2")
        self.hold("noisefloor-data/lock", "12\nhere:3\n")
        self.assertEqual(self.found(), "here:3")
        self.hold("home/lock", "12\nhome:4\n")
        os.environ["NOISEFLOOR_HOME"] = "home"
        self.assertEqual(self.found(), "home:4")
        os.environ["NOISEFLOOR_ACCESS"] = self.write("named", FILE.format("named:5"))
        self.assertEqual(self.found(), "named:5")
        os.environ["NOISEFLOOR_COORDINATOR"] = "said:6"
        self.assertEqual(self.found(), "said:6")
        self.write("other/access/owner.access", FILE.format("owner:7"))
        self.assertEqual(self.found(home="other"), "owner:7")
        self.assertEqual(self.found(access="named"), "named:5")
        self.assertEqual(self.found("box:8"), "box:8")

    def test_an_address_is_spoken_to_with_the_file_that_names_it(self) -> None:
        self.assertEqual(nf.find_coordinator("[::1]:5").token, "")
        self.write(".config/noisefloor/access", FILE.format("[::1]:5"))
        self.assertEqual(nf.find_coordinator("[::1]:5").token, "nfl_a_b")
        self.assertEqual(nf.find_coordinator("[::1]:6").token, "")

    def test_what_is_wrong_is_said_and_no_token(self) -> None:
        for text, words in (("coordinator a:1\n", "expected a line `token"),
                            ("token nfl_secret\n", "expected a line `coordinator"),
                            ("coordinator a:1\ntoken nfl_secret\n", "expected a certificate")):
            with self.assertRaisesRegex(nf.NoCoordinator, words) as caught:
                self.found(access=self.write("file", text))
            self.assertNotIn("secret", str(caught.exception))
        with self.assertRaisesRegex(nf.NoCoordinator, "admin.access"):
            self.found(access=self.folder)
        with self.assertRaisesRegex(nf.NoCoordinator, "no coordinator serves nowhere"):
            self.found(home="nowhere")
        self.hold("starts/lock", "12\n\n")
        with self.assertRaisesRegex(nf.NoCoordinator, "no coordinator serves starts"):
            self.found(home="starts")
        for wrong in ("box", "box:", ":1", "a b:1", "http://box:1"):
            with self.assertRaises(ValueError):
                self.found(wrong)
        secret = nf.find_coordinator(access=self.write("file", FILE.format("a:1")))
        self.assertNotIn("nfl_", repr(secret))


class Homes(unittest.TestCase):
    def test_the_port_of_one_that_was_killed_may_be_anothers(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            killed, other = os.path.join(folder, "killed"), os.path.join(folder, "other")
            served = programs.Served(self, killed)
            with nf.Client(home=killed) as client:
                self.assertEqual(client.version().home, killed)
            served.kill()
            programs.Served(self, other, served.address)
            with self.assertRaisesRegex(nf.NoCoordinator, f"no coordinator serves {killed}"):
                nf.Client(home=killed)
            with nf.Client(home=other) as client:
                self.assertEqual(client.version().home, other)


class Roles(unittest.TestCase):
    def test_a_role_opens_what_it_opens(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = os.path.join(folder, "home")
            out = os.path.join(folder, "access")
            environment = {**os.environ, "HOME": folder}
            programs.run("noisefloor", "access", "init", f"--home={home}",
                         "--address=localhost:7077", out, env=environment)
            programs.run("noisefloor", "access", "add", "ada", "--role=reader", f"--home={home}",
                         f"--to={out}/reader.access", env=environment)
            served = programs.Served(self, home)
            port = served.address.rpartition(":")[2]
            for name in os.listdir(out):
                path = os.path.join(out, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(":7077", f":{port}"))
            sweep = {"name": "a", "noise": ["control"], "hardware": "any"}
            with nf.Client(access=os.path.join(out, "submitter.access")) as client:
                who = client.who_am_i()
                self.assertEqual((who.role, who.proved), ("submitter", True))
                self.assertEqual(client.submit(sweep).sweep, 1)
            with nf.Client(access=os.path.join(out, "reader.access")) as client:
                self.assertEqual(client.get_sweep().owner, who.name)
                with self.assertRaises(nf.Refused) as caught:
                    client.submit(sweep)
                self.assertEqual((caught.exception.code, caught.exception.reason),
                                 ("PERMISSION_DENIED", "ROLE_TOO_LOW"))
                self.assertEqual(caught.exception.about["has"], "reader")
            with nf.Client(home=home) as client:
                self.assertEqual(client.who_am_i().role, "admin")
            with nf.Client(f"localhost:{port}") as client, self.assertRaises(nf.NoisefloorError):
                client.version()  # In plain text.
            wrong = os.path.join(out, "wrong.access")
            with open(os.path.join(out, "reader.access"), encoding="utf-8") as file:
                lines = file.read().split("\n")
            lines[2] = "token nfl_reader_nonsense"
            with open(wrong, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            with nf.Client(access=wrong) as client, self.assertRaises(nf.Refused) as caught:
                client.version()
            self.assertEqual((caught.exception.code, caught.exception.reason),
                             ("UNAUTHENTICATED", "TOKEN_REFUSED"))
