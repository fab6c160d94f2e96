"""When a result on a GPU counts, and when it is an old one."""
import pathlib
import tempfile
import unittest

import capabilities


class CapabilitiesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "kernels").mkdir()
        (self.root / "kernels/a.cuh").write_text("one")
        (self.root / "host.cc").write_text("two")
        self.capability = {"name": "x", "depends_on": ["kernels", "host.cc"]}

    def seen(self, content):
        verified = {"x": {"gpu": "NVIDIA H100", "date": "2026-12-01", "content": content}}
        return capabilities.on_gpu(self.capability, verified, self.root)

    def test_nothing_has_run(self):
        self.assertEqual(capabilities.on_gpu(self.capability, {}, self.root), "not verified")

    def test_a_result_counts_until_something_changes(self):
        content = capabilities.content_of(self.capability, self.root)
        self.assertEqual(self.seen(content), "NVIDIA H100, 2026-12-01")
        (self.root / "unrelated.cc").write_text("three")
        self.assertEqual(self.seen(content), "NVIDIA H100, 2026-12-01")
        (self.root / "kernels/b.cuh").write_text("")
        self.assertEqual(self.seen(content), "not verified")
        (self.root / "kernels/b.cuh").unlink()
        self.assertEqual(self.seen(content), "NVIDIA H100, 2026-12-01")
        (self.root / "kernels/a.cuh").rename(self.root / "kernels/b.cuh")
        self.assertEqual(self.seen(content), "not verified")
        (self.root / "kernels/b.cuh").rename(self.root / "kernels/a.cuh")
        (self.root / "host.cc").write_text("twO")
        self.assertEqual(self.seen(content), "not verified")

    def test_a_part_that_fails_loses_what_was_noted(self):
        path = self.root / "verified.json"
        named = [c for c in capabilities.capabilities() if c["gpu"] == "kernels"]
        capabilities.record("kernels", True, "NVIDIA H100", "2026-12-01", path)
        verified = capabilities.read_verified(path)
        self.assertEqual(sorted(verified), sorted(c["name"] for c in named))
        self.assertEqual({capabilities.on_gpu(c, verified) for c in named}, {"NVIDIA H100, 2026-12-01"})
        capabilities.record("stock", False, "NVIDIA H100", "2026-12-02", path)
        self.assertEqual(capabilities.read_verified(path), verified)
        capabilities.record("kernels", False, "NVIDIA H100", "2026-12-02", path)
        self.assertEqual(capabilities.read_verified(path), {})

    def test_what_it_depends_on_must_be_there(self):
        (self.root / "host.cc").unlink()
        with self.assertRaises(FileNotFoundError):
            capabilities.content_of(self.capability, self.root)

    def test_the_tests_of_a_build_are_read_and_its_log_is_left(self):
        (self.root / "CTestTestfile.cmake").write_text('add_test(one "true")\nsubdirs("inner")\n')
        (self.root / "inner").mkdir()
        (self.root / "inner/CTestTestfile.cmake").write_text('add_test(two "true")\n')
        log = self.root / "Testing/Temporary/LastTest.log"
        log.parent.mkdir(parents=True)
        log.write_text("what was skipped")
        self.assertEqual(capabilities.tests_of(self.root), {"one", "two"})
        self.assertEqual(log.read_text(), "what was skipped")

    def test_a_stale_table_differs(self):
        text = f"a\n{capabilities.BEGIN}old\n{capabilities.END}b\n"
        self.assertEqual(capabilities.with_table(text, "new\n"),
                         f"a\n{capabilities.BEGIN}new\n{capabilities.END}b\n")


if __name__ == "__main__":
    unittest.main()
