"""The attempts to get out of the box: what each tries, and what is expected of it in each tier.

This table is the one place where an exception is admitted, and docs/security.md shows it: a test compares
the two. `landlock` has the reason why the landlock tier (no namespaces to be had) cannot stop an attempt.
`ungrouped` has the reason why it is not stopped, in any tier, where the kernel gives nacre no control group,
as with an ordinary user on most machines. Apart from that the strict tier has no exception.

`control` tells for whom the attempt succeeds without any box. An attempt that succeeds nowhere proves
nothing, so the driver makes it once outside, where that is safe; where it is not, the reason stands here.
"""
import collections

Attempt = collections.namedtuple("Attempt", "theme name what control landlock profile ungrouped")

BOTH, ROOT, USER = "root user", "root", "user"


def _(theme, name, what, control=BOTH, landlock="", profile="bash", ungrouped=""):
    return Attempt(theme, name, what, control, landlock, profile, ungrouped)


# Reasons that several attempts share. A control that names none of "root" and "user" is a reason.
UNSAFE = "not tried outside: it would change the machine"
LACKS = "not tried outside: this kernel may lack the thing itself"
PATHS = "Landlock governs opening and changing names, not looking at metadata"
MODES = "Landlock does not govern mode, owner, times and extended attributes of files that the user owns"
PROC = ("/proc is the host's: process ids, command lines, names of keys, interfaces and connections can be seen; "
        "environment, memory and descriptors cannot")
TREES = "Landlock grants whole trees: what exists in the writable workspace cannot be left out"
NODEV = "there is no mount of its own: a device node that root has put into the workspace opens"
WATCHED = "without a control group processes are counted by a watch, which strikes a moment late"
DISK = "the private temporary directory lies on the host's disk: only the size of one file is bounded"
COUNTED = "without a user namespace they are counted together with all others of the user"
TAKEN = "not tried outside: it takes them from the machine's services"
LARGE = "not tried outside: without a limit it only takes long"

ATTEMPTS = [
    # Reading
    _("reading", "shadow", "read /etc/shadow and its kin", ROOT),
    _("reading", "beside", "read files beside the workspace"),
    _("reading", "dotdot", "read above the workspace by ../"),
    _("reading", "home_keys", "read ~/.ssh, ~/.aws, ~/.netrc, cloud tokens"),
    _("reading", "home_other", "read and list other homes, and other files of the own one"),
    _("reading", "link_planted", "read through links that lie in the workspace and lead out"),
    _("reading", "link_made", "read through links made by the command"),
    _("reading", "proc_root", "read through /proc/PID/root and /proc/PID/cwd"),
    _("reading", "proc_init", "read environment, arguments, descriptors and program of pid 1", ROOT, landlock=PROC),
    _("reading", "proc_parent", "read environment, arguments and descriptors of nacre's processes", landlock=PROC),
    _("reading", "proc_others", "read environment and arguments of other processes, or see them", landlock=PROC),
    _("reading", "environment", "find the operator's secrets in the own environment"),
    _("reading", "descriptors", "use descriptors that were left open"),
    _("reading", "state_dir", "read nacre's state directory"),
    _("reading", "kernel_log", "read the kernel's log", ROOT),
    _("reading", "kernel_memory", "read kcore, kallsyms, keys, /dev/mem", ROOT, landlock=PROC),
    _("reading", "disk_raw", "read the disk's blocks", LACKS),
    _("reading", "disk_planted", "read the disk through a node that root has planted", LACKS, landlock=NODEV),
    _("reading", "tmp_of_others", "read and list the host's /tmp, /var/tmp, /dev/shm"),
    _("reading", "runtime_dirs", "list /run, /var/lib, /var/log, /boot, /home, /root"),
    _("reading", "metadata", "see that a file outside exists", landlock=PATHS),
    _("reading", "bash_tricks", "read by the shell's own means"),
    _("reading", "tools_read", "read by tar, git, grep, curl, gcc"),
    # Writing
    _("writing", "by_path", "write outside by path"),
    _("writing", "by_dotdot", "write outside by ../"),
    _("writing", "by_symlink", "write outside through a symbolic link"),
    _("writing", "by_hard_link", "write outside through a hard link"),
    _("writing", "by_rename", "move files out of and into the workspace"),
    _("writing", "by_mode", "change mode, owner and access list outside", landlock=MODES),
    _("writing", "by_time", "change times outside", landlock=MODES),
    _("writing", "by_attribute", "set extended attributes outside", landlock=MODES),
    _("writing", "by_removal", "remove files outside"),
    _("writing", "by_truncation", "cut files outside"),
    _("writing", "by_node", "make FIFOs, sockets, directories, links outside"),
    _("writing", "by_proc", "write through /proc/PID/root and cwd"),
    _("writing", "by_tools", "write by tar, git, sed, sort, find, gcc"),
    _("writing", "system_dirs", "write into /etc, /usr, /var, /boot, /", UNSAFE),
    _("writing", "host_tmp", "write into the host's /tmp, /var/tmp, /dev/shm"),
    _("writing", "home_files", "write ~/.bashrc, ~/.ssh/authorized_keys"),
    _("writing", "setuid_file", "leave a set-user-id file in the workspace"),
    _("writing", "capability_file", "leave a file with capabilities in the workspace", ROOT),
    # Other processes
    _("tracing", "attach", "ptrace the victim, the parent, pid 1"),
    _("tracing", "trace_child", "ptrace an own child, where `sandbox.debug` is off", profile="undebugged"),
    _("tracing", "rewrite_call", "trace an own child and put a forbidden call in place of another"),
    _("tracing", "rewrite_behind", "the same by a filter of its own that asks the tracer"),
    _("tracing", "suspend_filter", "let a tracer suspend the filter, or read it", ROOT),
    _("tracing", "rewrite_order", "write into nacre's processes by every call that debuggers have"),
    _("tracing", "read_memory", "process_vm_readv"),
    _("tracing", "write_memory", "process_vm_writev"),
    _("tracing", "memory_files", "/proc/PID/mem, maps, auxv, syscall, stack"),
    _("tracing", "pidfd_getfd", "take descriptors by pidfd_getfd"),
    _("tracing", "descriptors", "open /proc/PID/fd/N"),
    _("tracing", "compare", "kcmp with other processes"),
    _("tracing", "write_self", "write read-only files through /proc/self/mem and mappings",
      "not tried outside: writing the file is allowed there"),
    _("signals", "by_kill", "signal the victim by kill"),
    _("signals", "by_other_calls", "signal by tkill, tgkill, sigqueue, pidfd"),
    _("signals", "to_groups", "signal everybody by kill -1, groups", UNSAFE),
    _("signals", "by_guessing", "signal by counting process ids", UNSAFE),
    _("signals", "by_owner", "let the kernel signal the owner of a descriptor"),
    _("signals", "by_timer", "let a timer signal another process", "not tried outside: the kernel refuses it"),
    _("signals", "other_properties", "priority, limits, scheduler, group of another process"),
    _("signals", "kill_nacre", "SIGKILL to nacre, keeper, init", UNSAFE),
    _("signals", "stop_nacre", "SIGSTOP to nacre, keeper, init", UNSAFE),
    _("daemons", "twice", "a daemon that forked twice"),
    _("daemons", "holding_the_pipe", "a daemon that holds the output"),
    _("daemons", "ignoring", "a daemon that ignores every signal"),
    _("daemons", "under_a_subreaper", "a daemon below a subreaper of its own"),
    _("daemons", "sibling", "a process born as a sibling (CLONE_PARENT)"),
    _("daemons", "silent_sibling", "a sibling whose end nobody hears"),
    _("daemons", "stopped", "a daemon with a stopped parent"),
    _("daemons", "forking_on", "a process that changes its id all the time"),
    # Resources, under limits
    _("resources", "processes", "300 processes", USER, profile="limits", landlock=WATCHED),
    _("resources", "threads", "300 threads", USER, profile="limits", landlock=WATCHED),
    _("resources", "memory", "1 GiB of memory", USER, profile="limits"),
    _("resources", "memory_of_many", "1 GiB of memory in eight processes", LARGE, profile="limits"),
    _("resources", "memory_of_a_crowd", "1 GiB of memory in 56 processes", LARGE, profile="limits"),
    _("resources", "memory_file", "1 GiB in memfds", LARGE, profile="limits"),
    _("resources", "memory_shared", "1 GiB of System V memory", LARGE, profile="limits"),
    _("resources", "memory_unmapped", "1 GiB of shared memory that nobody has mapped", LARGE, profile="limits"),
    _("resources", "memory_detached", "1 GiB of System V memory that nobody has attached", LARGE, profile="limits"),
    _("resources", "memory_sockets", "1 GiB that waits in sockets", LARGE, profile="limits"),
    _("resources", "memory_pinned", "1 GiB of huge pages, one page of each in a pipe", LARGE, profile="limits"),
    _("resources", "memory_tables", "1 GiB of page tables", LARGE, profile="limits"),
    _("resources", "memory_semaphores", "1 GiB of System V semaphores", LARGE, profile="limits"),
    _("resources", "memory_messages", "512 MiB of empty System V messages", LARGE, profile="limits"),
    _("resources", "big_file", "a file of 256 MiB in the workspace", LARGE, profile="limits"),
    _("resources", "file_behind", "256 MiB behind the end of a file", LARGE, profile="limits"),
    _("resources", "fill_tmp", "256 MiB in /tmp", LARGE, profile="limits", landlock=DISK),
    _("resources", "fill_shm", "256 MiB in /dev/shm", LARGE, profile="limits"),
    _("resources", "fill_home", "256 MiB in the home directory", LARGE, profile="limits"),
    _("resources", "fill_inodes", "80,000 empty files in /tmp", LARGE, profile="limits", landlock=DISK),
    _("resources", "open_files", "200,000 descriptors", "not tried outside: another limit may stop it",
      profile="limits"),
    _("resources", "watchers", "100 inotify instances of the 128 that the operator's programs have", TAKEN,
      profile="limits", landlock=COUNTED),
    _("resources", "signals_waiting", "10,000 waiting signals of those that the operator's programs have", TAKEN,
      profile="limits"),
    _("resources", "core_dump", "a core file", "not tried outside: depends on the machine's core_pattern",
      profile="limits"),
    # Network
    _("network", "tcp", "TCP to the host's loopback and address"),
    _("network", "udp", "UDP to the host's loopback and address"),
    _("network", "tcp_sideways", "TCP by fast open, MPTCP, SCTP, SMC"),
    _("network", "listen_outside", "listen where the host can connect"),
    _("network", "unix_path", "unix sockets by path"),
    _("network", "unix_abstract", "abstract unix sockets"),
    _("network", "vsock", "AF_VSOCK", LACKS),
    _("network", "crypto", "AF_ALG", LACKS),
    _("network", "raw", "raw sockets", ROOT),
    _("network", "packet", "packet and XDP sockets", ROOT),
    _("network", "netlink", "netlink other than routes"),
    _("network", "other_families", "all other address families", LACKS),
    _("network", "interfaces", "see the host's interfaces and connections", landlock=PROC),
    _("network", "administer", "configure interfaces", ROOT),
    # Shared memory, messages, keys
    _("sharing", "sysv_memory", "System V shared memory"),
    _("sharing", "sysv_messages", "System V message queues"),
    _("sharing", "sysv_semaphores", "System V semaphores"),
    _("sharing", "posix_memory", "POSIX shared memory"),
    _("sharing", "posix_queue", "POSIX message queues"),
    _("sharing", "keys", "keyrings"),
    # Namespaces and mounts
    _("namespaces", "unshare_each", "new namespaces by unshare"),
    _("namespaces", "clone_each", "new namespaces by clone and clone3"),
    _("namespaces", "join_others", "join namespaces by setns", ROOT),
    _("namespaces", "inherited", "use inherited descriptors of directories and namespaces"),
    _("namespaces", "mounts", "mount anything", ROOT),
    _("namespaces", "remount", "remount writable", UNSAFE),
    _("namespaces", "unmount", "unmount masks and protections", UNSAFE),
    _("namespaces", "new_mount_calls", "fsopen, open_tree, move_mount", ROOT),
    _("namespaces", "roots", "chroot and pivot_root", ROOT),
    _("namespaces", "magic_links", "climb from /proc links and descriptors"),
    _("namespaces", "capabilities", "have or get capabilities"),
    _("namespaces", "limits", "raise limits again",
      "not tried outside: there are none"),
    _("namespaces", "write_maps", "write uid_map, oom_score_adj",
      "not tried outside: nothing to be had there"),
    # The kernel
    _("kernel", "inject", "TIOCSTI and TIOCLINUX into the operator's terminal",
      "not tried outside: there is no terminal"),
    _("kernel", "inject_wide", "TIOCSTI with a wide request", LACKS),
    _("kernel", "bpf", "bpf", ROOT),
    _("kernel", "io_uring", "io_uring"),
    _("kernel", "userfault", "userfaultfd"),
    _("kernel", "perf", "perf_event_open"),
    _("kernel", "file_handle", "open_by_handle_at", ROOT),
    _("kernel", "modules", "kernel modules, kexec", LACKS),
    _("kernel", "machine", "reboot, clocks, swap, accounting, I/O ports, log", ROOT),
    _("kernel", "memory_policy", "move the memory of another process"),
    _("kernel", "personalities", "weaker memory protection by personality"),
    _("kernel", "other_abis", "32-bit and x32 calls"),
    _("kernel", "nodes", "make device nodes, open planted ones", ROOT, landlock=NODEV),
    _("kernel", "device_files", "open devices of the machine"),
    _("kernel", "settings", "/proc/sys, /sys, cgroups, core_pattern", ROOT),
    _("kernel", "sys_tree", "look into /sys"),
    # Rights
    _("privileges", "setuid_planted", "run a set-user-id program in the workspace"),
    _("privileges", "capability_planted", "run a program with capabilities in the workspace"),
    _("privileges", "setuid_system", "su, sudo, newuidmap, mount", ROOT),
    _("privileges", "switch_user", "setuid, setgid, setgroups", ROOT),
    _("privileges", "no_new_privs", "have no_new_privs unset"),
    # Planting
    _("planting", "hook_new", "add a git hook", landlock=TREES),
    _("planting", "hook_changed", "change a git hook", landlock=TREES),
    _("planting", "hook_link", "change a git hook through links", landlock=TREES),
    _("planting", "hook_dir_away", "replace .git/hooks", landlock=TREES),
    _("planting", "git_away", "replace .git", landlock=TREES),
    _("planting", "config_file", "change .git/config", landlock=TREES),
    _("planting", "config_other", "attributes, worktree configuration, hooks of submodules", landlock=TREES),
    _("planting", "common_dir", "lead git to another configuration by .git/commondir"),
    _("planting", "submodule", "hooks and configuration of a submodule, and the file that leads to it", landlock=TREES),
    _("planting", "named", "hooks and configuration elsewhere in the workspace, which .git/config names", landlock=TREES),
    _("planting", "led_to", "what protected links, and links among the hooks, lead to in the workspace", landlock=TREES),
    _("planting", "bare", "make the workspace itself a repository, and .git none"),
    _("planting", "parent_link", "let nacre itself move files outside, through a link above a protected path",
      "not tried outside: there is no nacre"),
    _("planting", "settings_new", "settings of editors, agents, shells that do not exist yet"),
    _("planting", "settings_links", "the same as links, FIFOs"),
    _("planting", "settings_stubborn", "the same as deep or unreadable directories"),
    _("planting", "settings_late", "the same, made as late as possible"),
    _("planting", "settings_case", "the same, moved into place"),
    _("planting", "own_mounts", "unmount the protection", UNSAFE),
    # The next command of a session
    _("leaving", "path", "programs in home, /tmp, /dev/shm and the workspace, under the names of usual ones", profile="session"),
    _("leaving", "git_home", "a ~/.gitconfig that names programs, aliases, hooks, more files", profile="session"),
    _("leaving", "git_config_dir", "the same in ~/.config/git, with attributes", profile="session"),
    _("leaving", "git_hidden", "the same behind directories of mode 000", profile="session"),
    _("leaving", "git_shapes", "the same through links", profile="session"),
    _("leaving", "git_large", "the same behind 256 KiB", profile="session"),
    _("leaving", "git_again", "a process that writes the same again all the time: what git runs gains no right",
      profile="session-denied"),
    _("leaving", "ssh_config", "a ~/.ssh/config with a command, ~/.netrc: what they run gains no right",
      "not tried outside: ssh asks the list of users for the home", profile="session-denied"),
    _("leaving", "shell_files", "~/.bashrc, ~/.profile, ~/.bash_env and their kin",
      "not tried outside: for a line bash reads none of them", profile="session"),
    _("leaving", "variables", "BASH_ENV, LD_PRELOAD, functions, aliases and their kin",
      "not tried outside: nothing is kept there", profile="session"),
    _("leaving", "settings", "what listed programs read in home beside their arguments", profile="session-listed"),
    _("leaving", "program_copy", "a copy of a denied program", profile="session-denied"),
    _("leaving", "set_user_id", "set-user-id programs in home, /tmp, /dev/shm", profile="session"),
    _("leaving", "mount_points", "a link where nacre will mount the workspace",
      "not tried outside: there is no nacre", profile="session"),
    _("leaving", "directory", "a link in place of the directory that the session is in",
      "not tried outside: no directory is kept", profile="session"),
    _("leaving", "shapes", "FIFOs, links, deep and closed directories, odd names where nacre looks and removes",
      "not tried outside: there is no nacre", profile="session"),
    _("leaving", "apart", "files, ports and sockets for another session", profile="session"),
    # Denied programs
    _("programs", "by_name", "a denied program by its names", profile="universal"),
    _("programs", "by_copy", "by a copy", profile="universal"),
    _("programs", "by_link", "by links", profile="universal"),
    _("programs", "by_loader", "by the dynamic loader", profile="universal"),
    _("programs", "by_interpreter", "by python, perl, awk, a script", profile="universal"),
    _("programs", "by_busybox", "by busybox", profile="universal"),
    _("programs", "by_memory", "from memory (memfd)", profile="universal"),
    _("programs", "by_descriptor", "by /proc/self/fd and fexecve", profile="universal"),
    _("programs", "by_package", "by other names of the same file", "not tried outside: there may be none",
      profile="universal"),
    _("programs", "by_unmask", "by taking the mask away", UNSAFE, profile="universal"),
    _("programs", "by_path_change", "by PATH, hash, aliases, globs", profile="universal"),
]

THEMES = {
    "reading": "Reading what is not the command's",
    "writing": "Writing outside",
    "tracing": "Other processes",
    "signals": "Signals",
    "daemons": "Outliving the command",
    "resources": "Eating the machine (64 processes, 256 MiB, 64 MiB files and /tmp)",
    "network": "Network and sockets",
    "sharing": "Shared memory, messages, keys",
    "namespaces": "Namespaces, mounts, roots",
    "kernel": "Doors into the kernel",
    "privileges": "Other rights",
    "planting": "Leaving something that runs later",
    "leaving": "What one command leaves to the next of its session",
    "programs": "Running a denied program (profile `universal`)",
}


def reasons():
    """The exceptions, numbered in the order of the table."""
    found = (reason for attempt in ATTEMPTS for reason in (attempt.ungrouped, attempt.landlock))
    return list(dict.fromkeys(filter(None, found)))


def outcome(*found):
    """"stopped", or the numbers of the reasons why it is not."""
    numbers = [str(reasons().index(reason) + 1) for reason in found if reason]
    return f"not stopped ({', '.join(numbers)})" if numbers else "stopped"


def table():
    """The attempts as docs/security.md shows them."""
    lines = ["| attempt | strict | landlock |", "|---|---|---|"]
    theme = None
    for attempt in ATTEMPTS:
        if attempt.theme != theme:
            theme = attempt.theme
            lines.append(f"| **{THEMES[theme]}** | | |")
        lines.append(f"| {attempt.what} | {outcome(attempt.ungrouped)} | "
                     f"{outcome(attempt.ungrouped, attempt.landlock)} |")
    lines.append("")
    lines += [f"{number}. {reason}." for number, reason in enumerate(reasons(), 1)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
