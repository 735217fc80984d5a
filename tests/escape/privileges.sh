#!/bin/bash
# Programs that change the user: those of the system, and copies that the driver has planted in the
# workspace, set-user-id root and with a file capability. They print a file that only root may read.
# shellcheck source=/dev/null disable=SC2154,SC2317
. attack/world

setuid_planted() {
	./planted/cat-setuid "$root_secret"
	./planted/cat-setgid "$root_secret"
	[ "$(id -u)" = 0 ] || ./planted/who-setuid | sed -n '/euid 0/s/^/GOT /p'
	bash -c './planted/cat-setuid "$0"' "$root_secret"
}

capability_planted() {
	./planted/cat-capable "$root_secret"
}

setuid_system() {
	local p
	for p in /bin/su /usr/bin/sudo /usr/bin/passwd /bin/mount /usr/bin/newgrp \
		/usr/bin/chsh /usr/bin/pkexec /usr/bin/newuidmap
	do
		[ -e "$p" ] && "$p" --version < /dev/null
	done
	su -c "cat '$root_secret'" root < /dev/null
	sudo -n cat "$root_secret"
	newgrp root < /dev/null
	newuidmap $$ 0 0 1 && echo GOT newuidmap
	mount -t tmpfs none "$PWD/m"
}

switch_user() {
	python3 - "$root_secret" <<'P'
import os, sys
for call in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0),
             lambda: os.setgroups([0]), lambda: os.seteuid(0)):
    try:
        if os.getuid() != 0:
            call()
            print("GOT another user")
    except OSError as error:
        print("no:", error)
try:
    print(open(sys.argv[1]).read())
except OSError as error:
    print("no:", error)
P

}

no_new_privs() {
	grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status || echo "GOT a process that may gain privileges"
}

"$1"
echo TRIED
