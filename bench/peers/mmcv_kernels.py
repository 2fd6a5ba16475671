"""mmcv's own CUDA files, compiled for the machine's card, and its own Python over them."""

import importlib.util
import pathlib
import statistics
import sys
import tempfile
import types

import torch


def by_events(call, rounds):
    """The median of a call by events, in ms."""
    for _ in range(10):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def compiled(mmcv, binding, names):
    """The functions of a binding of the CUDA files of these names."""
    from torch.utils.cpp_extension import load

    sources = mmcv / "mmcv/ops/csrc"
    build = pathlib.Path(tempfile.mkdtemp())
    (build / "binding.cpp").write_text(binding)
    files = [str(build / "binding.cpp"), *(str(sources / f"pytorch/cuda/{name}_cuda.cu") for name in names)]
    include = [str(sources / "common"), str(sources / "common/cuda")]
    flags = ["-DMMCV_WITH_CUDA"]
    return load("mmcv_kernels", files, extra_include_paths=include, build_directory=str(build), extra_cflags=flags,
                extra_cuda_cflags=flags)  # fmt: skip


def functions(mmcv, kernels, names):
    """mmcv's own modules of these names, which call these kernels: nothing else of mmcv is needed."""
    utils = types.ModuleType("mmcv.utils")
    utils.ext_loader = types.SimpleNamespace(load_ext=lambda *_: kernels)
    for name, module in {"mmcv": types.ModuleType("mmcv"), "mmcv.ops": types.ModuleType("mmcv.ops"), "mmcv.utils": utils}.items():
        module.__path__ = []
        sys.modules[name] = module
    for name in names:
        spec = importlib.util.spec_from_file_location(f"mmcv.ops.{name}", mmcv / f"mmcv/ops/{name}.py")
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
