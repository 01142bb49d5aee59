# SPDX-License-Identifier: Apache-2.0
"""Spack's package of gshmem. The sources are the tree that this file is in."""
import os

from spack.package import *


class Gshmem(MesonPackage, CudaPackage):
    """Symmetric memory for GPU clusters in the manner of OpenSHMEM: kernels of several GPUs put, get, signal and wait
    on each other's memory directly. The same kernels run on host threads."""

    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), "../../../.."))

    license("Apache-2.0")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("ucx", default=True, description="reach PEs on other nodes by UCX")
    variant("mlx5", default=False, description="let kernels post to mlx5 adapters")
    variant("mpi", default=False, description="start from an MPI communicator")
    variant("hwloc", default=True, description="place the proxy's thread near GPU and NIC, choose the NIC")
    variant("checks", default=False, description="check every argument of every call")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("rdma-core", when="+mlx5")
    depends_on("mpi", when="+mpi")
    depends_on("hwloc@2.1:", when="+hwloc")
    depends_on("cuda@12:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    def meson_args(self):
        def feature(name):
            return f"-D{name}=" + ("enabled" if self.spec.satisfies("+" + name) else "disabled")

        args = [feature(name) for name in ("cuda", "ucx", "mlx5", "mpi", "hwloc")]
        args += ["-Dtests=false", "-Dexamples=false"]
        args.append("-Dchecks=" + str(self.spec.satisfies("+checks")).lower())
        if self.spec.satisfies("+cuda"):
            args.append("-Dgpu_arch=" + ",".join("sm_" + arch for arch in self.spec.variants["cuda_arch"].value))
        return args
