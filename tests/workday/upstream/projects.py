"""Projects whose own test suites must come out inside as they do outside.

`verdict` finds the lines by which a suite tells how each test went. `prepare` runs once, outside, with the network.
"""
import collections

Project = collections.namedtuple("Project", "name source package prepare build test verdict need")

AUTOMAKE = r"^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): |^# (TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR):"

PROJECTS = [
    Project("zlib", "apt", "zlib", "", "./configure && make -j2", "make check", r"test OK|test FAILED|\*\*\*", ("gcc", "make")),
    Project("xz", "apt", "xz-utils", "", "./configure --disable-nls && make -j2", "make -k check", AUTOMAKE, ("gcc", "make")),
    Project("diffutils", "apt", "diffutils", "", "./configure --disable-nls && make -j2", "make -k check", AUTOMAKE, ("gcc", "make")),
    Project("sed", "apt", "sed", "", "./configure --disable-nls && make -j2", "make -k check", AUTOMAKE, ("gcc", "make")),
    Project("jq", "apt", "jq", "autoreconf -fi", "./configure --disable-docs --disable-maintainer-mode --with-oniguruma=no && make -j2", "make -k check",
            AUTOMAKE, ("gcc", "make", "autoreconf", "libtoolize", "bison", "flex")),
    Project("libuv", "apt", "libuv1", "sh autogen.sh", "./configure && make -j2 check TESTS=", "build/test/run-tests || test/run-tests",
            r"^(ok|not ok) ", ("gcc", "make", "autoreconf", "libtoolize")),
    Project("pcre2", "apt", "pcre2", "", "./configure --enable-jit && make -j2", "make -k check", AUTOMAKE, ("gcc", "make")),
    Project("redis", "apt", "redis", "", "make -j2 MALLOC=libc", "./runtest --clients 2 --single unit/type/list --single unit/type/string --single unit/expire "
            "--single unit/pubsub --single integration/aof", r"^\[(ok|err|exception)\]", ("gcc", "make", "tclsh")),
    Project("minimist", "npm", "minimist@1.2.8", "npm install --silent --no-audit --no-fund --ignore-scripts tape@5", "true", "npx --offline tape 'test/*.js'",
            r"^(ok|not ok) |^# (tests|pass|fail)", ("npm",)),
    Project("qs", "npm", "qs@6.11.2", "npm install --silent --no-audit --no-fund --ignore-scripts", "true", "npx --offline tape 'test/**/*.js'",
            r"^(ok|not ok) |^# (tests|pass|fail)", ("npm",)),
]

# Why a suite differs, by its name.
CAUSES = {}
