# Everything that contributors and the CI run. `make help` lists the targets.

CARGO ?= cargo

# The fuzz targets are a separate workspace that shares the product's build artifacts.
FUZZ_CARGO = CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}" $(CARGO)

# protoc for the tests; see scripts/install-test-tools.
export PATH := $(CURDIR)/target/tools/bin:$(PATH)

# The benchmarks' servers are a separate workspace with its own lock file.
BENCH_SERVERS := --manifest-path bench/servers/rust/Cargo.toml --target-dir target/bench --locked

# A check starts hundreds of JVMs; with only the C1 compiler, each starts faster.
QUICK_JVM := -XX:TieredStopAtLevel=1

.PHONY: help build test test-quick check doc dist test-dist conformance fmt clippy deps tools fuzz fuzz-long fuzz-replay fuzz-tools bench bench-quickstart bench-report bench-stamps bench-floor bench-aa bench-build bench-peers bench-levels bench-truth bench-link bench-slices bench-sharp bench-campus-twin bench-processes bench-gate

help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

build: ## Build the program, optimised
	$(CARGO) build --release --locked

test: tools ## Run every test; those of the subjects require Go 1.26, Node 20, Maven with a JDK, Mono, and Chromium
	./scripts/install-debian-packages
	$(CARGO) test --workspace --locked
	$(CARGO) test $(BENCH_SERVERS)
	./scripts/test-python-subject
	./scripts/test-csharp-subject
	target/tools/bin/python -m unittest discover --start-directory python/rpcgauge-locust/tests
	JAVA_TOOL_OPTIONS=$(QUICK_JVM) "$${CARGO_TARGET_DIR:-target}/debug/rpcgauge" subjects check
	./scripts/test-go-subject
	./scripts/test-node-subject
	./scripts/test-browser-subject
	./scripts/test-jvm-subject
	./scripts/test-dashboards
	./scripts/test-campus
	@for tool in go npm mvn mcs chromium prometheus; do command -v $$tool > /dev/null || echo "NOT TESTED: what needs $$tool, which is not installed"; done

# The program's tests that do not use a toolchain, a load of several seconds, or a link.
QUICK := arguments:: compare:: doctor:: report:: serve:: size:: studies:: tls::

test-quick: tools ## Unit tests, snapshots and short runs of the program: at most 3 minutes once it is built
	$(CARGO) test --workspace --locked --lib --bins --test architecture
	$(CARGO) test --workspace --locked --test program -- $(QUICK)

check: fmt clippy deps ## Check formatting, lints, and the dependencies between crates

fmt:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path bench/servers/rust/Cargo.toml --check
	$(CARGO) fmt --all --check --manifest-path fuzz/Cargo.toml

clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy $(BENCH_SERVERS) --all-targets -- -D warnings
	$(FUZZ_CARGO) clippy --all-targets --locked --manifest-path fuzz/Cargo.toml -- -D warnings

deps:
	$(CARGO) test --workspace --locked --test architecture

doc: ## Build the documentation of the library crates; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --lib --no-deps --locked

dist: ## Build the release files in target/dist: archive, Debian package, wheel, SBOM, checksums
	./scripts/dist

test-dist: ## Install the files of `make dist` in a bare Debian and a fresh venv, and measure there; as root
	./scripts/test-dist

conformance: ## Test the gRPC client and server with other projects' test suites; requires Go
	./scripts/conformance

tools: ## Install the tools that the tests use in addition to the Rust toolchain
	./scripts/install-test-tools

# Seconds for each target.
FUZZ_SECONDS ?= 20
FUZZ_LONG_SECONDS ?= 600

fuzz: fuzz-tools ## Fuzz every parser for a short time (FUZZ_SECONDS each); see docs/fuzzing.md
	./scripts/fuzz $(FUZZ_SECONDS)

fuzz-long: fuzz-tools ## Fuzz every parser for a long time (FUZZ_LONG_SECONDS each, FUZZ_WORKERS in parallel)
	./scripts/fuzz $(FUZZ_LONG_SECONDS)

fuzz-replay: ## Run the fuzz targets on their seeds and on mutations of the seeds, without the fuzzer
	$(FUZZ_CARGO) test --locked --manifest-path fuzz/Cargo.toml

fuzz-tools: ## Install the tools that fuzzing uses in addition to the Rust toolchain
	./scripts/install-fuzz-tools

bench: bench-stamps bench-floor bench-quickstart bench-report ## Print the quicker figures of docs/figures.md

bench-quickstart: build ## Time and peak memory of the quickstart
	./scripts/bench-quickstart

bench-report: build ## Size of report.html, and how fast Chromium renders it
	./scripts/bench-report

bench-stamps: ## Cost of the stage stamps
	$(CARGO) bench --locked -p rpcgauge-load --bench stage_stamps

bench-floor: build ## Whether the floor is stable between two runs a minute apart
	./scripts/bench-floor

bench-aa: build ## How wide the A/A intervals of 10 quickstarts are, and how many contain 1 (10 minutes)
	./scripts/bench-aa

bench-sharp: build ## How often a twin that is 3% slower is reported as slower, and whether A/A intervals contain 1
	./scripts/bench-sharp

bench-processes: build ## Whether variants that share processes have the same ratio as variants with their own (25 minutes)
	./scripts/bench-processes

bench-gate: build ## How often a gate fails for the same binary and for slower handlers (2 hours; scripts/bench-gate 5 30s: 8 minutes)
	./scripts/bench-gate

bench-campus-twin: build ## Whether pauses of 5 ms in campus's inner calls are detected, with the right size (10 minutes)
	./scripts/bench-campus-twin

bench-link: build ## How accurate emulated links are on this machine, compared with the targets and with Rattan
	$(CARGO) bench --locked -p rpcgauge-link --bench link
	./scripts/bench-link-rattan

bench-slices: build ## Whether the slice length changes a ratio, and how many calls a switch disturbs (docs/method.md; 25 minutes)
	./scripts/bench-slices
	RPCGAUGE=$(CURDIR)/target/release/rpcgauge $(CARGO) bench --locked -p rpcgauge-lab --bench first_calls

bench-build: ## Time a cold release build in a separate folder
	./scripts/bench-build

bench-peers: build ## Cost of a call in rpcgauge and in other load generators, which it installs (docs/engine.md)
	./scripts/bench-peers

bench-levels: build ## The server's CPU for an empty message, over gRPC and over REST
	./scripts/bench-levels

bench-truth: build ## Reported latencies of servers whose true latencies are known (docs/engine.md)
	./scripts/bench-truth
