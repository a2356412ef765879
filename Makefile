# Everything a contributor or the CI runs. `make help` lists it.

CARGO ?= cargo

# The fuzz targets are a separate workspace; they share what the product has built.
FUZZ_CARGO = CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}" $(CARGO)

# protoc for the tests; see scripts/install-test-tools.
export PATH := $(CURDIR)/target/tools/bin:$(PATH)

# The benchmarks' servers are a separate workspace: the program's lock file knows nothing of it.
BENCH_SERVERS := --manifest-path bench/servers/rust/Cargo.toml --target-dir target/bench --locked

# A check starts some five hundred JVMs: with one compiler each is up sooner.
QUICK_JVM := -XX:TieredStopAtLevel=1

.PHONY: help build test test-quick check doc dist test-dist conformance fmt clippy deps tools fuzz fuzz-long fuzz-replay fuzz-tools bench bench-quickstart bench-report bench-stamps bench-floor bench-aa bench-build bench-peers bench-levels bench-truth bench-link bench-slices bench-sharp bench-campus-twin

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

build: ## The program, optimised
	$(CARGO) build --release --locked

test: tools ## Every test; those of the Go, Node and JVM subjects need Go 1.26, Node 20, and Maven with a JDK
	$(CARGO) test --workspace --locked
	$(CARGO) test $(BENCH_SERVERS)
	./scripts/test-python-subject
	JAVA_TOOL_OPTIONS=$(QUICK_JVM) "$${CARGO_TARGET_DIR:-target}/debug/rpcgauge" subjects check
	./scripts/test-go-subject
	./scripts/test-node-subject
	./scripts/test-jvm-subject
	./scripts/test-campus
	@for tool in go npm mvn; do command -v $$tool > /dev/null || echo "NOT TESTED: the subject that needs $$tool, which is not here"; done

# Of the program's tests those that start no toolchain, no load of seconds and no link.
QUICK := arguments:: compare:: doctor:: report:: serve:: size:: studies:: tls::

test-quick: tools ## Unit tests, snapshots and short runs of the program: 3 minutes at most, once it is built
	$(CARGO) test --workspace --locked --lib --bins --test architecture
	$(CARGO) test --workspace --locked --test program -- $(QUICK)

check: fmt clippy deps ## Formatting, lints, and who may use whom

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

doc: ## The documentation of the library crates; warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --lib --no-deps --locked

dist: ## The files of a release, in target/dist: archive, Debian package, wheel, SBOM, checksums
	./scripts/dist

test-dist: ## Installs the files of `make dist` in a bare Debian and a fresh venv, and measures there; as root
	./scripts/test-dist

conformance: ## The gRPC client and server against other projects' test suites; needs Go
	./scripts/conformance

tools: ## What the tests use beside the Rust toolchain
	./scripts/install-test-tools

# Seconds for each target.
FUZZ_SECONDS ?= 20
FUZZ_LONG_SECONDS ?= 600

fuzz: fuzz-tools ## Every parser fuzzed for a short time (FUZZ_SECONDS each); see docs/fuzzing.md
	./scripts/fuzz $(FUZZ_SECONDS)

fuzz-long: fuzz-tools ## The same for long (FUZZ_LONG_SECONDS each, FUZZ_WORKERS at once)
	./scripts/fuzz $(FUZZ_LONG_SECONDS)

fuzz-replay: ## The fuzz targets on their seeds and changes of them, without the fuzzer
	$(FUZZ_CARGO) test --locked --manifest-path fuzz/Cargo.toml

fuzz-tools: ## What fuzzing uses beside the Rust toolchain
	./scripts/install-fuzz-tools

bench: bench-stamps bench-floor bench-quickstart bench-report ## The quicker figures of docs/figures.md, one after the other

bench-quickstart: build ## Time and peak memory of the quickstart
	./scripts/bench-quickstart

bench-report: build ## Size of report.html, and how fast Chromium draws it
	./scripts/bench-report

bench-stamps: ## What the stage stamps cost
	$(CARGO) bench --locked -p rpcgauge-load --bench stage_stamps

bench-floor: build ## Whether the floor is stable between two runs a minute apart
	./scripts/bench-floor

bench-aa: build ## How wide the A/A intervals of 10 quickstarts are, and how many hold 1 (10 minutes)
	./scripts/bench-aa

bench-sharp: build ## How often a twin that is 3% slower is called slower, and whether A/A pairs hold
	./scripts/bench-sharp

bench-campus-twin: build ## Whether campus with pauses of 5 ms in its inner calls is found, and its size (10 minutes)
	./scripts/bench-campus-twin

bench-link: build ## How true emulated links are on this machine, against what is asked of them and beside Rattan
	$(CARGO) bench --locked -p rpcgauge-link --bench link
	./scripts/bench-link-rattan

bench-slices: build ## Whether the length of a slice changes a ratio, and how long a change disturbs (docs/method.md; 25 minutes)
	./scripts/bench-slices
	RPCGAUGE=$(CURDIR)/target/release/rpcgauge $(CARGO) bench --locked -p rpcgauge-lab --bench first_calls

bench-build: ## A cold release build, in a separate folder
	./scripts/bench-build

bench-peers: build ## What a call costs here and in other load generators; installs them (docs/engine.md)
	./scripts/bench-peers

bench-levels: build ## The server's CPU for an empty message, by gRPC and by REST
	./scripts/bench-levels

bench-truth: build ## What is reported of servers whose latencies are known (docs/engine.md)
	./scripts/bench-truth
