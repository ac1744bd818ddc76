from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class TrellisQcd(CMakePackage, CudaPackage):
    """Lattice QCD from a gauge field to a number with an error bar: gauge fields, solvers,
    contractions and their analysis, on CPUs and CUDA GPUs, with the same bits however the work
    is cut."""

    # The public address is put in at the first release.
    homepage = "https://example.org/trellis"
    git = "https://example.org/trellis.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Parallel runs through MPI")
    variant("python", default=True, description="The Python module and the command trellis")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("zlib-api")
    depends_on("hdf5~mpi", when="~mpi")
    depends_on("hdf5+mpi", when="+mpi")
    depends_on("mpi", when="+mpi")

    with when("+python"):
        extends("python@3.11:")
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-scipy@1.11:", type="run")
        depends_on("py-mpmath@1.3:1", type="run")
        depends_on("py-h5py@3.10:", type="run")
        depends_on("py-matplotlib@3.8:", type="run")
        depends_on("py-pydantic@2.6:", type="run")
        depends_on("py-typer@0.12:", type="run")
        depends_on("py-rich@13.7:", type="run")
        depends_on("py-jinja2@3.1:", type="run")
        # Spack has no gvar, lsqfit and pyerrors, which trellis analyze needs: pip installs them.
    # The module and h5py take one HDF5.
    depends_on("py-h5py~mpi", type="run", when="+python~mpi")

    conflicts("%gcc@:11", msg="g++ 12 or later is needed")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=80 or 90")

    def cmake_args(self):
        # Spack's compiler wrapper chooses the instructions: -march is its own.
        args = [
            self.define_from_variant("TRELLIS_MPI", "mpi"),
            self.define_from_variant("TRELLIS_PYTHON", "python"),
            self.define_from_variant("TRELLIS_CUDA", "cuda"),
            self.define("TRELLIS_TESTS", False),
            self.define("TRELLIS_BENCH", False),
            self.define("TRELLIS_ARCH", ""),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(
                self.define("TRELLIS_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)
            )
        if self.spec.satisfies("+python"):
            args.append(self.define("Python_EXECUTABLE", self.spec["python"].command.path))
        return args

    def install(self, spec, prefix):
        components = ["development"] + (["python"] if spec.satisfies("+python") else [])
        with working_dir(self.build_directory):
            for component in components:
                cmake("--install", ".", "--prefix", prefix, "--component", component)
