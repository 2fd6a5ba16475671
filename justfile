features := "pointmill/twin,pointmill-io/laz"

# `just` lists these. Everything else is in CONTRIBUTING.md.

_list:
    @just --list --unsorted

# All tests, the kernels on the host twin included; no GPU needed
test *args:
    cargo test --workspace {{ args }}

# The documentation as a site in target/site, with live pages if the command is built, and with "Try it" after `just wasm`; --rust adds the Rust reference
site *args:
    site/build {{ args }}
    python3 site/check.py

# Format, lints and documentation, warnings are errors
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --features {{ features }} -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features {{ features }}

# Compile the kernels to a kernels.ptx beside each operator's sources
ptx:
    rustup component add rust-src
    cargo xtask ptx

# Make the reference answers again, and check them against the second implementation and the broken ones; needs python3 and numpy
fixtures:
    #!/usr/bin/env bash
    set -euo pipefail
    for operator in voxelize roi_pool ndt icp; do
        python3 fixtures/$operator.py
        python3 fixtures/$operator.py --check
        python3 fixtures/$operator.py --self-test --rounds 2000
        python3 fixtures/$operator.py --mutants
    done
    for program in odometry sparse sparse_pairs register; do
        python3 fixtures/$program.py
        python3 fixtures/$program.py --check
    done

# Fuzz each target, 60 s by default, on seeds and what earlier runs found; needs a C++ compiler
fuzz seconds="60" *targets:
    fuzz/run {{ seconds }} {{ targets }}

# Build the tests of the libraries for a GPU machine, and say how to run them there
test-gpu:
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p target/test-gpu
    for crate in pointmill pointmill-slam; do
        cargo test -p $crate --lib --no-run
        binary=$(cargo test -p $crate --lib --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
        cp "$binary" target/test-gpu/$crate-tests
    done
    cat <<'END'

    On a machine with a GPU and this checkout:

        POINTMILL_TEST_GPU=1 cargo test -p pointmill -p pointmill-slam

    On one without Rust: carry target/test-gpu and the folder fixtures to REPO/fixtures there, make the folder
    REPO/crates/pointmill, and run

        export POINTMILL_TEST_GPU=1 CARGO_MANIFEST_DIR=REPO/crates/pointmill
        ./pointmill-tests && ./pointmill-slam-tests

    POINTMILL_TEST_DATA=FOLDER adds the known counts of public sweeps: FOLDER/kitti/000000000{0,1,2,3}.bin and
    FOLDER/nuscenes/ff9eff43.10sweeps.pcd.bin; files that are not there are left out.
    With POINTMILL_TEST_GPU set a GPU must answer, or the tests fail.
    END

# Run the tests of formulas and files as a 64-bit ARM program; needs Debian's qemu-user, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross
test-arm *args:
    rustup target add aarch64-unknown-linux-gnu
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
        cargo test --target aarch64-unknown-linux-gnu -p pointmill-core -p pointmill-io -p pointmill-data --features pointmill-io/laz --lib --tests {{ args }}

# Run the same tests as a Windows program; needs Debian's wine and gcc-mingw-w64-x86-64
test-windows *args:
    #!/usr/bin/env bash
    set -euo pipefail
    rustup target add x86_64-pc-windows-gnu
    export WINEPREFIX=$PWD/target/wine WINEDEBUG=-all
    mkdir -p "$WINEPREFIX"
    wineboot --init
    # Wine before version 9 lacks the library from which Rust takes random numbers.
    library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
    if [ ! -e "$library" ]; then
        printf '%s\n' '#include <windows.h>' '#include <ntsecapi.h>' '__declspec(dllexport)' \
            'BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return RtlGenRandom(data, length); }' |
            x86_64-w64-mingw32-gcc -shared -o "$library" -x c - -x none -ladvapi32
    fi
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine \
        cargo test --target x86_64-pc-windows-gnu -p pointmill-core -p pointmill-io -p pointmill-data --features pointmill-io/laz --lib --tests {{ args }}

# Measure; `just bench voxelize --device cuda:0`, `just bench voxelize --input FILE --json`, `just bench roi-pool`
bench *args:
    cargo run --release -p pointmill-bench -- {{ args }}

# NVIDIA's assembler, of the last major version that drivers of CUDA 12 and 13 load, into target; needs python3, and pip once
[private]
ptxas:
    [ -e target/ptxas-venv ] || python3 -m venv target/ptxas-venv
    target/ptxas-venv/bin/pip install --quiet --no-deps nvidia-cuda-nvcc-cu12==12.9.86
    install -m 755 "$(find target/ptxas-venv -path '*/bin/ptxas')" target/ptxas

# maturin and zig's linker, into target; needs python3, and pip once
[private]
packers: ptxas
    [ -e target/wheel-venv ] || python3 -m venv target/wheel-venv
    target/wheel-venv/bin/pip install --quiet 'maturin>=1.9.4,<2' ziglang

# The command for this machine, with machine code of the kernels beside the PTX
command: ptxas
    POINTMILL_PTXAS=$PWD/target/ptxas cargo build --release

# A wheel for any Linux of the last years into target/wheels
wheel *args: packers
    POINTMILL_PTXAS=$PWD/target/ptxas PATH=$PWD/target/wheel-venv/bin:$PATH bindings/python/wheel target/wheels --release {{ args }}

# Every file of a release into target/release-files, for x86_64 and aarch64 or those named; needs Debian's qemu-user-static and libgcc-s1-arm64-cross
release *machines: packers
    rm -rf target/release-files
    POINTMILL_PTXAS=$PWD/target/ptxas PATH=$PWD/target/wheel-venv/bin:$PATH release/build target/release-files {{ machines }}

# Check and install what `just release` made, and run the ARM command and the C examples; `just release-check --help`
release-check *args:
    release/check target/release-files --release {{ args }}

# The packages of the crates: `just crates package` makes and checks them, `just crates publish` uploads them
crates action="package":
    release/crates {{ action }}

# The npm package for browsers and node, and its page, into target/browser, and compare both with the command
wasm pointmill="target/release/pointmill":
    rustup target add wasm32-unknown-unknown
    cargo run --quiet --package xtask --features wasm -- wasm target/browser
    POINTMILL={{ pointmill }} node --test crates/pointmill-wasm/tests/*.test.mjs
    python3 crates/pointmill-wasm/tests/page.py {{ pointmill }} target/browser

# Install the Python package into the active environment and test it; needs maturin, pytest and numpy there, and torch for all of it
test-python *args:
    maturin develop --release --manifest-path bindings/python/Cargo.toml
    python -m pytest bindings/python {{ args }}
