"""hypothesis for every test: no time limit on a busy machine, and the same examples on every run."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
