"""Bring notebooks/ and data/, which stay at the top of a checkout, into the package of the
wheel.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("notebooks", "data")


class WithNotebooks(build_py):
    """Copy the folders beside the modules of the package; an editable install reads them where they
    are.
    """

    def run(self) -> None:
        """Build the package, then add the folders."""
        super().run()
        for folder in FOLDERS if not self.editable_mode else ():
            self.copy_tree(folder, str(Path(self.build_lib, "evalkit", folder)))


setup(cmdclass={"build_py": WithNotebooks})
