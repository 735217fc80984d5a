# A thin front of meson: `make help` lists what there is to make.
#
# Paths are relative, so the tree may lie anywhere. V=1 shows what happens. WERROR=true makes warnings
# errors, as .ci/run does; without it a compiler that knows new warnings still builds nacre.

BUILD  = build
WERROR = false
PREFIX = $(or $(prefix),/usr/local)
TIME   = 60
LINES  = 10000
SEED   = 1
KERNELS = bookworm trixie
MACHINE = $(shell uname -m)
NINJA  = ninja -C $(BUILD) $(if $(filter-out 0,$(V)),-v)
TESTS  = $(if $(shell pkg-config --exists cmocka 2>/dev/null && echo yes),true,false)
ASAN   = b_sanitize=address,undefined b_lundef=false tests=true werror=$(WERROR)

# The text of CMD is the shell's business alone: make must not expand it, and the quotes in it must
# survive, so it travels as it is, in the environment, under a name of its own.
NACRE_MAKE_CMD := $(value CMD)
export NACRE_MAKE_CMD
unexport CMD
override CMD :=
MAKEOVERRIDES :=
export V ?= 0

.PHONY: malformed all setup run test check-fast asan bench fuzz differential campaign soak transactions clients workday writer upstream console-test console-pictures lint coverage fresh kernels dist deb npm oci sbom release release-test install clean help
.SILENT:
ifneq ($(filter-out 0,$(V)),)
.SHELLFLAGS = -xc
endif

# ninja's "all" would build the tests, too; and it need not say that there is nothing to do.
all: setup
	$(NINJA) -n nacre | grep -q 'no work to do' || $(NINJA) nacre >&2

# A fresh machine gets what the build needs, a new tree gets its build directory; later both are quick.
setup:
	tools/setup build
	[ -e $(BUILD)/build.ninja ] || tools/configure $(BUILD) tests=$(TESTS) werror=$(WERROR)
	[ "$$(cat $(BUILD)/.source 2>&1)" = "$$(pwd -P)" ] || tools/configure $(BUILD)

# Standard output belongs to the command.
run: all
	[ -n "$$NACRE_MAKE_CMD" ] || { echo "usage: make run CMD='ls -la'" >&2; exit 2; }
	line=$$NACRE_MAKE_CMD; unset NACRE_MAKE_CMD; exec $(BUILD)/nacre run -c "$$line"

# Everything, plain and again with the address and undefined behaviour sanitizers.
test:
	tools/setup test
	tools/configure $(BUILD) tests=true werror=$(WERROR)
	tools/configure $(BUILD)-asan $(ASAN)
	tools/run-tests $(BUILD) $(BUILD)-asan

check-fast:
	tools/setup test
	tools/configure $(BUILD) tests=true werror=$(WERROR)
	tools/run-tests --suite unit $(BUILD)

asan:
	tools/setup test
	tools/configure $(BUILD)-asan $(ASAN)
	tools/run-tests $(BUILD)-asan

bench: all
	tools/setup bench
	[ -x bench/run ] || { echo "there is no bench/run" >&2; exit 1; }
	NACRE=$(BUILD)/nacre bench/run

fuzz:
	tools/setup fuzz
	tools/fuzz $(BUILD)-fuzz $(TIME)

# Generated lines, analysed and run under real bash; what disagrees is printed as JSON.
differential: all
	tools/setup test
	NACRE=$(BUILD)/nacre tests/differential/run --lines $(LINES) --seed $(SEED)

# 10,000 requests that are wrong in some way: the server lives, and stays as small as it was.
malformed: all
	tools/setup test
	NACRE=$(BUILD)/nacre NACRE_MALFORMED=$(LINES) NACRE_SEED=$(SEED) python3 tests/integration/test_http_malformed.py

# 1,000 sessions, 10,000 commands through warm boxes: nothing may be left, no count may grow. WAIT=1 waits for what takes minutes.
soak: all
	tools/setup test
	NACRE=$(BUILD)/nacre tests/soak/run $(if $(WAIT),--wait)

# 2,000 command lines, natively and by try, apply and undo, on each file system that can be had; then 100,000 files.
transactions: all
	tools/setup test
	NACRE=$(BUILD)/nacre tests/transactions/run --seed $(or $(SEED),1)

# Real agents from npm, set up by `nacre init` and driven by a scripted model on loopback. ONLY='claude,codex' takes a part.
clients: all
	tools/setup test
	NACRE=$(BUILD)/nacre NACRE_CLIENTS=full NACRE_CLIENT='$(ONLY)' tests/integration/test_agent_clients.py

# A working day of an agent, in plain bash and in nacre; see docs/workday.md. ONLY='git/' takes a part.
workday: all
	tools/setup test
	tests/workday/run.py $(BUILD)/nacre --only '$(ONLY)'

# The agents' day's work with TeX, biber and pandoc, which 'make test' skips where they are missing:
# they are large.
writer: all
	tools/setup test writer
	NACRE=$(BUILD)/nacre NACRE_TEST_MUST=tools tests/integration/tap.py tests/integration/test_agents.py

# Test suites of other projects, outside and in a room. Needs the network to fetch them; minutes each.
upstream: all
	tools/setup test
	tests/workday/upstream/run.py $(BUILD)/nacre --only '$(ONLY)'

# What the tests only sample: tasks under kill -9 at 200 moments, 100 followers of 100 MB, the audit log
# under kill -9 at 500 moments, cut off behind each of its bytes, and on machines that go down. Minutes.
campaign: all
	tools/setup test
	cd tests/integration && NACRE='$(abspath $(BUILD))/nacre' NACRE_STORM=200 python3 test_tasks.py Storm
	cd tests/integration && NACRE='$(abspath $(BUILD))/nacre' NACRE_FOLLOW=full python3 test_follow.py Flood
	tools/configure $(BUILD) tests=true
	$(NINJA) tests/test-audit-storm tests/test-audit-chain tests/crash-machine >&2
	NACRE_STORM=500 $(BUILD)/tests/test-audit-storm
	NACRE_EVERY=1 $(BUILD)/tests/test-audit-chain
	MACHINE=$(BUILD)/tests/crash-machine tests/crash/run

# The page in a real browser, all of it: every theme and size, a link that is too old, 1,000 tasks, 100 MB that are followed. Minutes.
console-test: all
	tools/setup test
	cd tests/integration && NACRE='$(abspath $(BUILD))/nacre' NACRE_CONSOLE=full python3 test_console_page.py

# The pictures of the page in docs/pictures.
console-pictures: all
	tools/setup test
	cd tests/integration && NACRE='$(abspath $(BUILD))/nacre' NACRE_CONSOLE=pictures python3 test_console_page.py Look

lint:
	tools/setup test lint
	tools/lint $(BUILD)

coverage:
	tools/setup coverage
	tools/coverage $(BUILD)-coverage

# The newcomer's two commands in a fresh Debian 12; needs root and a network. With a directory (FRESH=DIR) it stays there, and
# another run goes on where this one ended; WHO=root or WHO=user is one of the two.
fresh:
	tools/setup fresh
	tests/fresh/run $(if $(FRESH),--in '$(FRESH)') $(WHO)

# Debian's own kernels, emulated: doctor, groups under systemd, limits, MCP, batch, escapes. Root once, for the images.
kernels: all
	tools/setup kernels
	BUILD=$(BUILD) tests/kernels/run $(KERNELS)

# What is released, in dist/; docs/releasing.md. MACHINE=aarch64 builds for another machine, and USERLAND=1 makes the large image.
RELEASE = tools/release --machine $(MACHINE) $(if $(USERLAND),--userland)

dist:
	tools/setup build release
	$(RELEASE) source
	$(RELEASE) build

sbom:
	tools/setup build release
	$(RELEASE) sbom

deb npm oci:
	tools/setup build release
	$(RELEASE) $@

release:
	tools/setup build release
	$(RELEASE) check
	$(RELEASE) all

# The results in fresh roots, by npm, in containers, built twice, and for another machine. Root, a network for packages; half an hour.
release-test:
	tools/setup build test release
	tests/release/run $(ONLY)

install: setup
	tools/configure $(BUILD) prefix='$(PREFIX)'
	$(NINJA) installed >&2
	DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-tidy $(BUILD)-analyzer $(BUILD)-coverage $(BUILD)-kernels $(BUILD)-release $(BUILD)-release-* $(BUILD)-cross-* dist

help:
	echo "make                    build $(BUILD)/nacre (and install the packages it needs)"
	echo "make run CMD='ls -la'   build, then run a command line through nacre"
	echo "make test               all tests, plain and with sanitizers"
	echo "make check-fast         the unit tests only"
	echo "make asan               all tests, with sanitizers only"
	echo "make bench              measure against other ways to run a command"
	echo "make fuzz [TIME=60]     fuzz each parser for TIME seconds"
	echo "make differential [LINES=10000] [SEED=1]   the analysis of generated lines against real bash"
	echo "make malformed [LINES=10000] [SEED=1]      odd requests at a server"
	echo "make transactions       2,000 command lines are the same when they are tried, applied and undone"
	echo "make clients            real agents (Claude Code, Codex, ...) with nacre as their shell"
	echo "make workday            what agents do all day is the same in nacre as in plain bash"
	echo "make writer             what the ready-made agents do all day, with TeX, biber and pandoc (installs them)"
	echo "make upstream           test suites of other projects come out in nacre as outside"
	echo "make soak [WAIT=1]      1,000 sessions and 10,000 commands leave nothing behind"
	echo "make campaign           tasks under kill -9 at 200 moments, 100 followers of 100 MB, the audit log at 500"
	echo "make console-test       the page in a browser, all of it; make console-pictures takes its pictures for the docs"
	echo "make lint               format, clang's warnings, clang-tidy, gcc -fanalyzer, order of the rooms"
	echo "make coverage           which lines of src/ the tests reach"
	echo "make fresh [WHO=root|user] [FRESH=DIR]     'make run' and 'make test' in a fresh Debian 12 (root); goes on in DIR"
	echo "make kernels [KERNELS='bookworm trixie'] [STEPS='places limits']   the sandbox on Debian's own kernels, emulated"
	echo "make dist               the source archive and the static program with its manual, in dist/ [MACHINE=aarch64]"
	echo "make deb npm oci sbom   packages, images [USERLAND=1] and the list of parts, in dist/"
	echo "make release            all of these, checked, with SHA256SUMS; signed by NACRE_MINISIGN_KEY, NACRE_SSH_KEY"
	echo "make release-test [ONLY=deb]               the results installed in fresh systems and used (root)"
	echo "make install [PREFIX=/usr/local] [DESTDIR=]"
	echo "make clean              remove the build directories; V=1 with any of these shows more"
