"""The snippets work as they are."""

import subprocess
import unittest
from pathlib import Path

from tests.harness import BUILT, build

setUpModule = build


class SnippetsTest(unittest.TestCase):
    def test_servers_answer_clients(self) -> None:
        program = [BUILT / "venv" / "bin" / "python", "-B", Path(__file__).with_name("snippets.py")]
        done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
