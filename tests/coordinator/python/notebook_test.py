"""The notebook does what it says, and what it shows is so."""

import os
import re
import tempfile
import unittest

import nbclient
import nbformat
import pandas

import programs

PATH = os.path.join(programs.SOURCE, "deploy/notebooks/first_look.ipynb")


class Notebook(unittest.TestCase):
    def test_every_cell_runs(self) -> None:
        notebook = nbformat.read(PATH, as_version=4)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs"), "outputs are not kept")
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                                    resources={"metadata": {"path": folder}}).execute()
            frame = pandas.read_parquet(os.path.join(folder, "members.parquet"))
            with open(os.path.join(folder, "first-look.html"), encoding="utf-8") as file:
                self.assertIn("first-look", file.read())
        said = "\n".join(output.get("text", "") or output.get("data", {}).get("text/plain", "")
                         for cell in notebook.cells for output in cell.get("outputs", []))
        self.assertIn("12 members; control: 1 draws algo: 6 draws", said)
        self.assertIn("12 of 12 ended", said)
        self.assertEqual(dict(frame.groupby("plan")["hash.logits"].nunique()), {"algo": 6, "control": 1})
        told = float(re.search(r"([\d.]+) % of the answers differ", said)[1])
        self.assertTrue(1 < told < 60, told)
        # Of both plans, control first: the study's own figure.
        control, free = re.findall(r"churn\s+(\d\.\d+)", said)
        self.assertEqual(float(control), 0.0)
        self.assertAlmostEqual(100 * float(free), told, 2)
        pictures = [output for cell in notebook.cells for output in cell.get("outputs", [])
                    if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 1)
