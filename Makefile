# The front door. CMake does the work (CMakePresets.json); each target here is a short name for a few commands.
PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BUILD = build/$(PRESET)
SOURCES = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

.PHONY: help
help: ## show this
	@echo 'Comity makes parallel libraries share the cores. The two to know: make demo, make test.'; echo
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo; echo '  PRESET=release|dev|asan|tsan|coverage (now $(PRESET)), JOBS (now $(JOBS)), COMITY_NO_INSTALL=1: install nothing'

.PHONY: dependencies
dependencies: ## install the Debian packages that are missing for everything
	@scripts/install-dependencies test demo bench conformance sanitizers lint

# What a target needs beyond a compiler (the words in scripts/dependencies.txt), and what it builds (nothing said: all).
NEEDS = test
demo: NEEDS = demo
demo: BUILD_ARGS = --target products demo_programs
data-science: NEEDS = demo
bench: NEEDS = bench
bench: BUILD_ARGS = --target products bench_programs
bench-servers: NEEDS = bench servers
bench-servers: BUILD_ARGS = --target products bench_programs
conformance-gomp conformance-kmp conformance-openposix conformance-pthread conformance-python: NEEDS = conformance
conformance-gomp conformance-kmp conformance-openposix conformance-pthread conformance-python data-science install: BUILD_ARGS = --target products
install: NEEDS =
PRESET_NEEDS = $(if $(filter asan tsan,$(PRESET)),sanitizers) $(filter coverage,$(PRESET))

.PHONY: build
build: ## build everything into build/PRESET
	@scripts/install-dependencies $(NEEDS) $(PRESET_NEEDS)
	@echo '== configure: $(BUILD)'
	@cmake --preset $(PRESET) --log-level=WARNING
	@echo '== build: $(BUILD)'
	@cmake --build --preset $(PRESET) --parallel $(JOBS) $(BUILD_ARGS)
	@echo '== built: $(BUILD)/bin/comity'

.PHONY: test
test: build ## build, then run every test but those of speed
	@echo '== test: $(BUILD)'
	@ctest --preset $(PRESET) --parallel $(JOBS)

.PHONY: test-one-hart
test-one-hart: build ## the tests of parts and under load again, with one hart where they do not say how many
	@echo '== test-one-hart: $(BUILD)'
	@COMITY_HARTS=1 ctest --preset $(PRESET) --parallel $(JOBS) --label-regex 'unit|stress'

.PHONY: test-fresh
test-fresh: ## make demo and make test on a fresh Debian, made by debootstrap in build/fresh (as root)
	@scripts/install-dependencies fresh
	@scripts/test-fresh

.PHONY: demo
demo: build ## compare real programs under stock libraries and under Comity, draw the picture
	@echo '== demo'
	@demo/run

.PHONY: data-science
data-science: build ## compare 18 small data-science programs in the same way, write docs/results/data-science.md
	@echo '== data-science'
	@demo/data_science/run

.PHONY: bench
bench: build ## measure against other libraries in the same run, all suites
	@echo '== bench'
	@bench/run --suite all

.PHONY: bench-servers
bench-servers: build ## the suite of servers alone, with MariaDB, nginx, Apache, Redis and PostgreSQL of Debian's
	@echo '== bench-servers'
	@bench/run --suite servers

.PHONY: soak
soak: BUILD_ARGS = --target thread_soak
soak: build ## create and join 100,000,000 threads; the process must not grow
	@echo '== soak'
	@$(BUILD)/tests/thread_soak | tee $(BUILD)/soak.txt
	@tail -n 1 $(BUILD)/soak.txt > docs/results/soak.json
	@! grep -q '"grew":true' docs/results/soak.json

.PHONY: soak-mixed
soak-mixed: build ## a storm of threads, regions, tasks, calls, forks and ends by chance, for SECONDS=600 (SEED=N: again)
	@echo '== soak-mixed'
	@SOAK_SECONDS=$(SECONDS) SOAK_SEED=$(SEED) cmake --build $(BUILD) --target soak_mixed | tee $(BUILD)/soak-mixed.txt; tail -n 1 $(BUILD)/soak-mixed.txt > docs/results/soak-mixed.json
	@grep -q '"failed": 0' docs/results/soak-mixed.json

.PHONY: conformance-gomp
conformance-gomp: build ## libgomp's own test suite, from Debian's gcc-12 source package
	@echo '== conformance-gomp'
	@tests/conformance/gomp/run

.PHONY: conformance-kmp
conformance-kmp: build ## LLVM's tests of its OpenMP runtime, from Debian's llvm-toolchain-14 source package
	@echo '== conformance-kmp'
	@tests/conformance/kmp/run

.PHONY: conformance-omp
conformance-omp: conformance-gomp conformance-kmp ## both OpenMP suites

.PHONY: conformance-pthread
conformance-pthread: build ## glibc's tests of POSIX threads, from Debian's glibc source package
	@echo '== conformance-pthread'
	@tests/conformance/nptl/run

.PHONY: conformance-openposix
conformance-openposix: build ## the Open POSIX tests of threads, from Debian's source package, or SUITE=FOLDER
	@echo '== conformance-openposix'
	@tests/conformance/openposix/run $(if $(SUITE),--suite '$(SUITE)')

.PHONY: conformance-python
conformance-python: build ## Python's own tests of threads, from Debian's libpython3.11-testsuite
	@echo '== conformance-python'
	@tests/conformance/python/run

.PHONY: test-asan test-tsan
test-asan test-tsan: test-%: ## the tests under a sanitizer
	@$(MAKE) --no-print-directory test PRESET=$*

.PHONY: coverage
coverage: PRESET = coverage
coverage: test ## run the tests and print the covered lines of each file
	@echo '== coverage'
	@gcovr --root . --filter src/ --filter tools/ build/coverage

.PHONY: lint
lint: ## clang-tidy, the layers, the atomics' partners, the links, the format
	@scripts/install-dependencies test lint
	@echo '== lint: layers, atomics, tree'
	@scripts/check-layers
	@scripts/check-atomics
	@scripts/check-tree
	@echo '== lint: format'
	@clang-format --dry-run --Werror $(SOURCES)
	@echo '== lint: clang-tidy'
	@cmake --preset lint --log-level=WARNING
	@nice run-clang-tidy -quiet -j $(JOBS) -p build/lint '$(CURDIR)/(src|tools)/.*[.]cpp$$' > build/lint/clang-tidy.txt 2>&1 \
	  || { cat build/lint/clang-tidy.txt; exit 1; }

.PHONY: format
format: ## clang-format over every source
	@scripts/install-dependencies lint
	@clang-format -i $(SOURCES)

.PHONY: install
install: build ## install below PREFIX (/usr/local); DESTDIR is respected
	@echo '== install below $(DESTDIR)$(PREFIX)'
	@cmake --install $(BUILD) --prefix $(PREFIX)

.PHONY: clean
clean: ## remove build/
	rm -rf build
