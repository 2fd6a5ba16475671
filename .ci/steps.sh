# Sourced by .ci/run and .ci/full: the steps that they list, what a step needs, and the seconds of each.
# Two cores, no GPU, no input. Needs rustup with the stable toolchain, python3 with pip, and the network once for what is not cached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
exec </dev/null
# Nothing is built twice here, and what it would keep for that takes gigabytes. A failure names its line without more.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
# Optimized across crates, the command takes a third longer to build. `just release` makes those that people get.
export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_LTO=off
# A text that is not the committed one fails, and no file is left beside it.
export INSTA_UPDATE=no
# A toolkit of this machine changes nothing of what is tested.
export POINTMILL_PTXAS=

numpy=2.4.6
laspy=2.7.0
laszip=0.3.0
rosbags=0.11.9
mcap_ros2=0.6.0
pye57=0.4.19
pyarrow=26.0.1
typos=1.52.0
# The assembler of releases, and the last major version that knows sm_70.
nvcc=12.9.86
maturin=1.16.0
ziglang=0.17.1
pytest=9.2.0
mypy=2.4.1
ray=2.60.0
dask=2026.8.0
moto=5.2.5
s3fs=2026.9.0
nbclient=0.11.0
matplotlib=3.11.2
case $(python3 -c 'import sys; print(sys.version_info.minor)') in
    10 | 11) numpy_lowest=1.23.5 ;;
    12) numpy_lowest=1.26.4 ;;
    *) numpy_lowest=2.3.5 ;;
esac
features=pointmill/twin,pointmill-io/laz
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pointmill-ci
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
work=$(mktemp -d)
script=$(basename "$0")
name=start
begun=0
took=()

# The seconds of the step that ends here.
ended() {
    took+=("$((SECONDS - begun))	$name")
    begun=$SECONDS
}

# The seconds stay in target/ci/run.tsv or full.tsv, from which .ci/table makes the page.
finish() {
    local code=$?
    # What still runs beside.
    kill $(jobs -p) 2>/dev/null || true
    rm -rf "$work"
    ended
    mkdir -p "$target/ci"
    printf '%s\n' "${took[@]}" | sort -rn >"$target/ci/$script.tsv"
    awk -F'\t' '{printf "%5d s %s\n", $1, $2}' "$target/ci/$script.tsv"
    if [ "$code" -eq 0 ]; then
        echo "== all passed in $SECONDS s"
    else
        echo "== FAILED after $SECONDS s in: $name (exit code $code)"
    fi
    exit "$code"
}
trap finish EXIT
# Without these, a run that is stopped would end as one that passed.
trap 'exit 143' TERM
trap 'exit 130' INT

# A step is one line with the time of day and the seconds so far; its commands follow.
step() {
    ended
    name=$1
    echo "== $(date +%H:%M:%S) +${SECONDS}s $name"
}

fail() {
    echo "$1" >&2
    return 1
}

# Whether a file of these paths differs from the last merge, or from the commit that POINTMILL_CI_BASE names.
# In a clone without that commit everything counts as touched.
changed=$(
    base=${POINTMILL_CI_BASE:-$(git rev-list --merges -1 HEAD 2>/dev/null || true)}
    git diff --name-only "${base:-none}" -- 2>/dev/null || git ls-files
)
touched() {
    local path
    for path in "$@"; do grep -q "^$path" <<<"$changed" && return 0; done
    echo "nothing changed in: $*"
    return 1
}

# environment NAME PACKAGE...: the folder of a Python environment of the cache, made once, into $environment.
environment() {
    environment=$cache/$1
    [ ! -e "$environment/ready" ] || return 0
    rm -rf "$environment"
    mkdir -p "$cache"
    # One command, which also stops where a caller asks whether it went well.
    python3 -m venv "$environment" &&
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}" &&
        touch "$environment/ready"
}

# The commands of the README's quick start, so that what newcomers type is what is tested.
mapfile -t quick < <(awk '/^## /{inside = $0 == "## Quick start"} inside && /^cargo /' README.md)
[ "${#quick[@]}" -eq 2 ] || fail "README.md: expected 2 commands under Quick start, got ${#quick[@]}"

# From here on Python finds the package in $work/site and nothing in the checkout.
run_python() {
    local python=$1
    shift
    (cd "$work" && PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1 "$python" "$@")
}

tools() {
    step "tools"
    rustc --version
    cargo --version
    python3 --version
    rustup component add rustfmt clippy rust-src
}

format() {
    step "format: cargo fmt --all --check"
    cargo fmt --all --check
}

spelling() {
    step "spelling: typos $typos"
    environment "typos-$typos" "typos==$typos"
    "$environment/bin/typos"
}

attributes() {
    step "every library denies what clippy.toml lists, and unsafe where SECURITY.md says so"
    for library in crates/*/src/lib.rs bindings/python/src/lib.rs; do
        # Whose sources decide the text of the kernels, and have no files.
        case $library in */pointmill-core/* | */pointmill-kernels/*) continue ;; esac
        grep -q '^#!\[cfg_attr(not(test), deny(clippy::disallowed_methods))\]$' "$library" || fail "$library: no deny(clippy::disallowed_methods)"
    done
    for crate in core/src/lib.rs data/src/lib.rs io/src/lib.rs detection/src/lib.rs synth/src/lib.rs view/src/lib.rs batch/src/lib.rs cli/src/main.rs; do
        grep -q '^#!\[forbid(unsafe_code)\]$' "crates/pointmill-$crate" || fail "pointmill-$crate: no forbid(unsafe_code)"
    done
}

# A circle of two files shows that the check finds one.
circles() {
    step "no files of a crate import each other: .ci/circles"
    .ci/circles
    mkdir -p "$work/ring/crate/src"
    echo 'mod a; mod b;' >"$work/ring/crate/src/lib.rs"
    echo 'use crate::b::B; pub struct A(B);' >"$work/ring/crate/src/a.rs"
    echo 'pub struct B(Option<Box<super::a::A>>);' >"$work/ring/crate/src/b.rs"
    ! .ci/circles "$work/ring" >/dev/null || fail ".ci/circles: expected a.rs and b.rs to be refused"
}

lints() {
    step "lints: cargo clippy"
    cargo clippy --workspace --all-targets --features "$features" -- -D warnings
}

# The pages' examples of Rust and the seeds of the fuzzer are among them.
tests() {
    step "tests, build: ${quick[1]} --no-run"
    ${quick[1]} --no-run
    step "tests, run: ${quick[1]}"
    ${quick[1]}
}

# What the examples, the guides, Python and C use. The tests have compiled nearly all of it.
libraries() {
    step "libraries and examples"
    cargo build --quiet --workspace --lib --bins --examples
    for example in crates/pointmill{,-slam}/examples/*.rs; do
        [ "$(wc -l <"$example")" -le 60 ] || fail "$example: expected at most 60 lines"
        "$target/debug/examples/$(basename "$example" .rs)"
    done
}

documentation() {
    step "documentation: cargo doc"
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features "$features"
}

without_cuda() {
    step "the libraries without CUDA"
    cargo check -p pointmill -p pointmill-slam --no-default-features
}

platforms() {
    step "other platforms: cargo check"
    local platforms=(x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-gnu)
    rustup target add "${platforms[@]}" wasm32-unknown-unknown
    for platform in "${platforms[@]}"; do
        # The Python package needs the interpreter of its platform.
        cargo check --quiet --workspace --exclude pointmill-python --target "$platform"
    done
    # A browser has neither threads nor files: the libraries alone, and the package over them.
    cargo check --quiet -p pointmill-wasm --target wasm32-unknown-unknown
}

fuzzing() {
    step "fuzzing: fuzz/run 60"
    fuzz/run 60
}

# Licences, sources and advisories, where the tool is there: it takes longer to build than all else.
dependencies() {
    step "dependencies: cargo deny check"
    if command -v cargo-deny >/dev/null; then
        cargo deny check
    else
        echo "skipped: there is no cargo-deny"
    fi
}

# main_job COMMAND...: the README's first command, or the same one that the tests have built.
main_job() {
    step "main job: $(basename "$1") ${*:2}"
    "$@" --device cpu --out "$work/voxels/"
    local sweeps
    sweeps=$(find "$work/voxels" -name '*.npz' -size +0 | wc -l)
    [ "$sweeps" -eq 10 ] || fail "main job: expected 10 files, got $sweeps"
}

ptx() {
    step "PTX: cargo xtask ptx --check"
    cargo xtask ptx --check
}

# Into $readers and $ptxas.
python_readers() {
    step "Python: numpy $numpy, laspy $laspy, pyarrow $pyarrow, rosbags $rosbags, ptxas $nvcc"
    # ptxas needs nothing of the packages that nvcc depends on.
    environment "readers-numpy-$numpy-laspy-$laspy-$laszip-pyarrow-$pyarrow-rosbags-$rosbags-$mcap_ros2-pye57-$pye57" \
        "numpy==$numpy" "laspy==$laspy" "laszip==$laszip" "pyarrow==$pyarrow" "rosbags==$rosbags" "mcap-ros2-support==$mcap_ros2" "pye57==$pye57"
    readers=$environment
}

assembler() {
    environment "nvcc-$nvcc" --no-deps "nvidia-cuda-nvcc-cu12==$nvcc"
    ptxas=$(find "$environment" -path '*/site-packages/nvidia/*/bin/ptxas' -print -quit)
    [ -n "$ptxas" ] || fail "no ptxas in $environment"
    chmod +x "$ptxas"
}

# fixtures NAME...: each is what its script makes.
fixtures() {
    step "fixtures are what their script makes: $*"
    printf 'fixtures/%s.py\n' "$@" | xargs -P "$(nproc)" -I{} "$readers/bin/python" {} --check
}
all_fixtures=(voxelize roi_pool ndt icp odometry sparse sparse_pairs register las bags e57 feather)

judgement_of_drives() {
    step "bench/drives.py finds the errors of trajectories that have known ones"
    "$readers/bin/python" bench/drives.py --check
}

touched_fixtures() {
    local some=() one
    for one in "${all_fixtures[@]}"; do
        if touched "fixtures/$one" fixtures/files.py >/dev/null; then some+=("$one"); fi
    done
    [ "${#some[@]}" -gt 0 ] || { echo "no fixture has changed"; return 0; }
    python_readers
    fixtures "${some[@]}"
}

# kernels ARCH...: without stack or spills.
kernels() {
    step "kernels assemble without stack or spills: $*"
    assembler
    for arch in "$@"; do
        for ptx in crates/pointmill-kernels/src/*/kernels.ptx; do
            echo "$arch $ptx"
        done
    done | xargs -P "$(nproc)" -L 1 .ci/assemble "$ptxas" "$work"
}

# Unoptimized, which takes a third of the time. On sm_70 two kernels that limit their registers spill. The rest of the
# architectures has machine code, of the next step. Thor, 110 from CUDA 13 on, is 101 to this assembler.
other_gpus() {
    step "every other GPU from sm_70 to sm_121 takes the kernels"
    for arch in sm_70 sm_87 sm_89 sm_101 sm_103 sm_121; do
        for ptx in crates/pointmill-kernels/src/*/kernels.ptx; do
            echo "$arch $ptx $work/$arch-$(basename "$(dirname "$ptx")").cubin"
        done
    done >"$work/modules"
    xargs -P "$(nproc)" -L 1 sh -c '"$0" -w -O0 "-arch=$1" "$2" -o "$3"' "$ptxas" <"$work/modules"
    [ "$(find "$work" -name 'sm_*-*.cubin' | wc -l)" -eq "$(wc -l <"$work/modules")" ] || fail "ptxas wrote no code for some module"
}

machine_code() {
    step "machine code of the kernels"
    # In a folder of its own: all else is built without.
    POINTMILL_PTXAS=$ptxas CARGO_TARGET_DIR=$target/cubin cargo test --quiet -p pointmill-kernels --lib --features cubin cubin
}

chromium_here() {
    if ! command -v chromium >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null || echo "apt-get installed no chromium"
    fi
    command -v chromium >/dev/null || { echo "skipped: there is no chromium"; return 1; }
}

# pages COMMAND: they are opened, played and compared.
pages() {
    step "pages in headless Chromium"
    if chromium_here; then timeout 600 python3 crates/pointmill-cli/tests/browser.py "$1"; fi
}

# las_whole COMMAND
las_whole() {
    step "laspy finds all of LAS files in what is written of them"
    "$readers/bin/python" crates/pointmill-cli/tests/las_whole.py "$1"
}

# The header is compared where the library has changed: the tool that makes it takes a minute to build.
c_library() {
    step "C and C++ library, gcc"
    local parts=(gcc)
    if touched crates/pointmill-c; then parts+=(header); fi
    crates/pointmill-c/check "$target/debug" "${parts[@]}"
}

c_library_whole() {
    step "C and C++ library"
    crates/pointmill-c/check "$target/debug" header gcc clang sanitize
    release/abi
}

# The package with the library that the tests have built: `wheel` makes what people install.
python_package() {
    step "Python package: the library of the tests, numpy $numpy, pytest $pytest, mypy $mypy"
    environment "python-pytest-$pytest-mypy-$mypy-numpy-$numpy" "pytest==$pytest" "mypy==$mypy" "numpy==$numpy"
    package=$environment
    mkdir -p "$work/site"
    cp -r bindings/python/python/pointmill "$work/site/"
    cp "$target/debug/lib_pointmill.so" "$work/site/pointmill/_pointmill.abi3.so"
}

# The wheel is built as `just wheel` builds those of releases, but unoptimized.
wheel() {
    step "Python package: wheel, maturin $maturin"
    environment "python-pytest-$pytest-mypy-$mypy-numpy-$numpy" "pytest==$pytest" "mypy==$mypy" "numpy==$numpy"
    package=$environment
    environment "maturin-$maturin-ziglang-$ziglang" "maturin==$maturin" "ziglang==$ziglang"
    packer=$environment
    PATH=$packer/bin:$PATH bindings/python/wheel "$work/wheels" --quiet --interpreter "$package/bin/python"
    python3 -m zipfile -e "$work"/wheels/*.whl "$work/site"

    step "Python package: wheel and source distribution hold the licences"
    "$packer/bin/maturin" sdist --manifest-path bindings/python/Cargo.toml --out "$work/sdist"
    tar -xzf "$work"/sdist/*.tar.gz -C "$work/sdist"
    for licence in LICENSE-MIT LICENSE-APACHE; do
        cmp "$licence" "$work"/site/pointmill-*.dist-info/licenses/"$licence"
        cmp "$licence" "$work"/sdist/pointmill-*/"$licence"
    done
}

crates() {
    for part in package minimal semver; do
        step "crates: release/crates $part"
        release/crates "$part"
    done
}

# With the wheel, the command and the C library from above. The wheel and the C library of releases are optimized, and `just release-check` checks these.
release_files() {
    step "files of a release: release/check"
    release/pack command "$target/release/pointmill" "$(uname -m)" "$work/release-files"
    release/pack library "$target/debug" "$(uname -m)" "$work/release-files"
    cp "$work"/wheels/*.whl "$work"/sdist/*.tar.gz "$work/release-files"
    release/check "$work/release-files" --python "$package/bin/python"
    if [ "${POINTMILL_RELEASE:-0}" = 1 ]; then
        step "every file of a release: just release, just release-check"
        "$packer/bin/python" -m pip install --quiet --disable-pip-version-check rust-just
        (
            unset CARGO_PROFILE_RELEASE_DEBUG CARGO_PROFILE_RELEASE_LTO
            PATH=$packer/bin:$PATH just release
            PATH=$packer/bin:$PATH just release-check
        )
    fi
}

python_tests() {
    step "Python package: tests and doctests, numpy $numpy"
    run_python "$package/bin/python" -m pytest -q -p no:cacheprovider "$root/bindings/python/tests"
}

python_tests_lowest() {
    step "Python package: tests and doctests, numpy $numpy_lowest"
    environment "numpy-lowest-$numpy_lowest-pytest-$pytest" "pytest==$pytest" "numpy==$numpy_lowest"
    run_python "$environment/bin/python" -m pytest -q -p no:cacheprovider "$root/bindings/python/tests"
}

python_types() {
    step "Python package: stubs, types, examples"
    run_python "$package/bin/python" "$root/bindings/python/stub/stub.py" --check
    run_python "$package/bin/python" -m mypy.stubtest pointmill._pointmill
    (cd bindings/python/python && "$package/bin/python" -m mypy --cache-dir "$work/mypy-package" --config-file ../pyproject.toml pointmill)
    run_python "$package/bin/python" -m mypy --strict --cache-dir "$work/mypy" "$root/bindings/python/tests/typed.py"
    run_python "$package/bin/python" "$root/bindings/python/examples/align_scans.py"
    run_python "$package/bin/python" "$root/bindings/python/examples/odometry.py"
}

# guides PYTHON [GUIDE...], with the command of $commands and the libraries of the tests.
commands=$target/debug
run_guides() {
    PATH=$commands:$PATH run_python "$1" "$root/docs/guides/run.py" --rlibs "$target/debug" "${@:2}"
}

guides() {
    step "guides"
    run_guides "$package/bin/python"
}

notebooks() {
    step "notebooks: nbclient $nbclient, matplotlib $matplotlib"
    environment "notebooks-nbclient-$nbclient-matplotlib-$matplotlib-numpy-$numpy" "nbclient==$nbclient" ipykernel "matplotlib==$matplotlib" "numpy==$numpy"
    run_python "$environment/bin/python" "$root/docs/notebooks/run.py"
}

# A real cluster of two nodes on this machine, an object store, and the pages that need them.
cluster() {
    step "maps on a cluster: Ray $ray, Dask $dask"
    if ! environment "rays-ray-$ray-dask-$dask-moto-$moto-s3fs-$s3fs-pytest-$pytest-numpy-$numpy" \
        "ray[data]==$ray" "dask==$dask" "moto[server]==$moto" "s3fs==$s3fs" "pytest==$pytest" "numpy==$numpy"; then
        echo "skipped: pip has no wheel of ray $ray for this Python"
        return 0
    fi
    run_python "$environment/bin/python" -m pytest -q -p no:cacheprovider "$root/bindings/python/tests/test_ray.py"
    local needing
    mapfile -t needing < <(grep -l '^<!-- needs ray -->' "$root"/docs/guides/*.md)
    PATH=$environment/bin:$PATH run_guides "$environment/bin/python" "${needing[@]}"
}

torch() {
    step "Python package with torch on the CPU"
    if [ -z "${POINTMILL_TORCH_PYTHON:-}" ]; then
        echo "skipped: POINTMILL_TORCH_PYTHON names no python with torch and pytest"
        return 0
    fi
    run_python "$POINTMILL_TORCH_PYTHON" -c 'import torch; print("torch", torch.__version__)'
    run_python "$POINTMILL_TORCH_PYTHON" -m pytest -q -p no:cacheprovider "$root/bindings/python/tests"
    run_python "$POINTMILL_TORCH_PYTHON" "$root/bindings/python/examples/pillars.py" --steps 2 --device cpu
    local needing
    mapfile -t needing < <(grep -l '^<!-- needs torch -->' "$root"/docs/guides/*.md)
    run_guides "$POINTMILL_TORCH_PYTHON" "${needing[@]}"
}

# Python uses one core. The other one makes the npm package, which the last steps test.
browser_begins() {
    if command -v node >/dev/null; then
        cargo run --quiet --package xtask --features wasm -- wasm "$target/browser" >"$work/browser.log" 2>&1 &
        browser=$!
    fi
}

browser() {
    step "browser: the npm package and its page"
    if [ -z "${browser:-}" ]; then
        echo "skipped: there is no node"
        return 0
    fi
    wait "$browser" || {
        cat "$work/browser.log" >&2
        fail "cargo xtask wasm made no package"
    }
    POINTMILL=$target/release/pointmill PACKAGE=$target/browser/package node --test crates/pointmill-wasm/tests/*.test.mjs
    if chromium_here; then timeout 600 python3 crates/pointmill-wasm/tests/page.py "$target/release/pointmill" "$target/browser"; fi
}

site() {
    step "site"
    site/build "$target/release/pointmill"
    timeout 300 python3 site/check.py
}
