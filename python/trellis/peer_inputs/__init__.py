"""Inputs of other programs become run files: the OpenACC staggered code, MILC's RHMC, openQCD's qcd1.

Each function reads the input's text and gives the text of a run file of `trellis generate`. A choice that a
program makes when it is compiled (the gauge action) or keeps in another file (rational functions) is an
argument here, or Trellis makes it. Comments at the head say what is not taken over as it is; measurements and
file names are not taken over.
"""

from .milc import from_milc
from .openacc import from_openacc
from .openqcd import from_openqcd

__all__ = ["from_milc", "from_openacc", "from_openqcd"]
