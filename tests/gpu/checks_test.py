"""What the rows of a part come to, and that they are kept as they come."""
import contextlib
import io
import pathlib
import tempfile
import unittest

from checks import Checks, cell
from processes import Deadline, Failure, NoTime


class ChecksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name) / "RESULTS.md"
        self.results.write_text("from before\n")
        self.checks = Checks(Deadline(1), self.results)
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def test_rows_are_appended_as_they_come(self):
        def check():
            self.checks.add("bits", True, "equal")
            self.seen = self.results.read_text()
        self.checks.run("stock", check)

        self.assertTrue(self.seen.startswith("from before\n### stock\n"))
        self.assertTrue(self.seen.endswith("| bits | held | equal |\n"))
        self.assertEqual(self.checks.ran, {"stock"})

    def test_what_fails_under_a_guard_is_a_row_and_the_part_goes_on(self):
        def check():
            with self.checks.guard("mlp"):
                raise Failure("exit code 11")
            self.checks.add("resnet18", True, "equal")
        self.checks.run("stock", check)

        self.assertIn("| mlp: runs to its end | FAILED | exit code 11 |\n| resnet18 | held", self.results.read_text())
        self.assertEqual((self.checks.count, self.checks.failed), (2, 1))
        self.assertEqual(self.checks.failed_parts, {"stock"})

    def test_a_part_that_fails_has_run_and_the_next_one_is_seen(self):
        def check():
            raise Failure("exit code 11")
        self.checks.run("stock", check)
        self.checks.run("infer", lambda: self.checks.add("bits", True, "equal"))

        self.assertIn("| stock: runs to its end | FAILED | exit code 11 |", self.results.read_text())
        self.assertEqual((self.checks.ran, self.checks.failed_parts), ({"stock", "infer"}, {"stock"}))
        self.assertEqual((self.checks.count, self.checks.failed), (2, 1))

    def test_a_part_without_time_has_not_run(self):
        def check():
            with self.checks.guard("mlp"):
                raise NoTime("no time left")
        self.checks.run("stock", check)
        self.checks.deadline = Deadline(0)
        self.checks.run("infer", lambda: self.fail("it is not begun"))

        self.assertEqual(self.results.read_text().count("SKIPPED: no time left"), 2)
        self.assertEqual((self.checks.ran, self.checks.late), (set(), {"stock", "infer"}))
        self.assertEqual(self.checks.failed, 0)

    def test_a_part_that_cannot_run_here_has_not_run(self):
        self.checks.run("devices", lambda: True)
        self.assertEqual((self.checks.ran, self.checks.late), (set(), set()))

    def test_a_cell_is_one_cell(self):
        self.assertEqual(cell("a | b\n\tc"), "a \\| b c")
        self.assertEqual(cell("x" * 900 + "why")[-4:], "xwhy")
        self.assertLess(len(cell("x" * 900)), 720)


if __name__ == "__main__":
    unittest.main()
