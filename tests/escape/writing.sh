#!/bin/bash
# Writing outside the workspace, with what is at hand in a shell. The driver compares the outside
# directory, whose files everybody may write, before and after: names, content, mode, times, links.
# shellcheck source=/dev/null disable=SC2154,SC2317
. attack/world

by_path() {
	echo pwned > "$outside/new"
	echo pwned >> "$outside/victim.txt"
	echo pwned | tee "$outside/tee"
	cp attack/world "$outside/copy"
}

by_dotdot() {
	echo pwned > ../outside/new
	echo pwned > ../../outside/new
	cd ..
	cd ..
	echo pwned > outside/dotdot
	echo pwned > "$PWD/outside/dotdot"
}

by_symlink() {
	ln -sfn "$outside" way
	echo pwned > way/new
	ln -sfn "$outside/victim.txt" way2
	echo pwned > way2
	rm -f way way2
	echo pwned > link-out/planted-link
}

by_hard_link() {
	ln "$outside/victim.txt" hard && echo pwned > hard
	ln -L link-out/victim.txt hard2 && echo pwned > hard2
	ln attack/world "$outside/hard3"
	rm -f hard hard2
}

by_rename() {
	echo pwned > mine
	mv mine "$outside/victim.txt"
	mv mine "$outside/renamed"
	mv -T attack/world "$outside/world"
	mv "$outside/victim.txt" taken
	mv "$outside" taken-dir
	python3 -c 'import os,sys; os.rename(sys.argv[1]+"/victim.txt", sys.argv[1]+"/elsewhere")' "$outside"
}

by_mode() {
	chmod 600 "$outside/victim.txt"
	chmod 700 "$outside"
	setfacl -m u:nobody:rwx "$outside/victim.txt"
	chown "$(id -u):$(id -g)" "$outside/victim.txt"
	chmod 600 "link-out/victim.txt"
	chmod 666 /dev/null && [ "$(stat -c %a /dev/null)" = 666 ] && echo "GOT the mode of /dev/null"
}

by_time() {
	touch -d '2001-01-01' "$outside/victim.txt" "$outside"
	touch -r attack/world link-out/victim.txt
	touch /dev/null && echo "GOT the times of /dev/null"
}

by_attribute() {
	setfattr -n user.pwned -v 1 "$outside/victim.txt"
	python3 -c 'import os,sys; os.setxattr(sys.argv[1], "user.pwned", b"1")' "$outside/victim.txt"
}

by_removal() {
	rm -f "$outside/victim.txt"
	rmdir "$outside/empty"
	unlink "$outside/victim.txt"
}

by_truncation() {
	truncate -s 0 "$outside/victim.txt"
	: > "$outside/victim.txt"
	python3 -c 'import os,sys; os.truncate(sys.argv[1], 1)' "$outside/victim.txt"
}

by_node() {
	mkfifo "$outside/fifo"
	mknod "$outside/null" c 1 3
	mkdir "$outside/dir"
	ln -s x "$outside/link"
	python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1]+"/sock")' "$outside"
}

by_proc() {
	local p
	for p in /proc/[0-9]* /proc/self
	do
		echo pwned > "$p/root$outside/by-proc"
		echo pwned > "$p/cwd/../outside/by-proc"
		echo pwned > "$p/cwd/../../outside/by-proc"
	done
}

by_tools() {
	tar cf "$outside/tar" attack/world
	tar cPf t.tar --transform "s|.*|$outside/untarred|" attack/world && tar xPf t.tar
	git init -q "$outside/repo"
	python3 -c 'import sys; open(sys.argv[1]+"/python","w").write("x")' "$outside"
	sed -i s/a/b/ "$outside/victim.txt"
	sort -o "$outside/victim.txt" attack/world
	find attack -fprint "$outside/found"
	gcc -x c -E -o "$outside/gcc" /dev/null
	rm -f t.tar
}

system_dirs() {
	local d
	for d in /etc /usr /usr/bin /usr/lib /bin /lib /opt /var /var/lib /boot /root /home / \
		/run /sbin /usr/local/bin /etc/cron.d /var/spool/cron /proc /sys /dev
	do
		echo pwned > "$d/nacre-escape-$id" && [ -e "$d/nacre-escape-$id" ] && echo "wrote into $d"
	done
	echo "#$id" >> /etc/passwd
	echo "#$id" >> /etc/hosts
	:
}

host_tmp() {
	local d
	for d in /tmp /var/tmp /dev/shm "$hosttmp" "$home"
	do
		echo pwned > "$d/nacre-escape-new-$id"
		echo pwned >> "$d/nacre-escape-secret-$id"
	done
	:
}

home_files() {
	local f
	for f in .bashrc .profile .ssh/authorized_keys .config/autostart/x .gitconfig .netrc
	do
		mkdir -p "$(dirname "$home/$f")"
		echo pwned >> "$home/$f"
	done
}

setuid_file() {
	cp /bin/true planted-setuid && chmod 4755 planted-setuid
	chmod 2755 planted-setuid
	install -m 6755 /bin/true planted-setuid2
	python3 - <<'P'
import os
for call in (lambda: os.chmod("planted-setuid", 0o4755),
             lambda: os.fchmod(os.open("planted-setuid", os.O_RDONLY), 0o6755),
             lambda: os.close(os.open("planted-setuid3", os.O_CREAT | os.O_WRONLY, 0o4755)),
             lambda: os.mknod("planted-setuid4", 0o104755),
             lambda: os.chmod("planted-setuid", 0o2755, dir_fd=os.open(".", os.O_RDONLY))):
    try:
        call()
    except OSError as error:
        print("no:", error)
P

}

capability_file() {
	cp /bin/true planted-capable
	setcap cap_dac_override+ep planted-capable
	python3 -c 'import os
os.setxattr("planted-capable", "security.capability", bytes.fromhex("01000002" "02000000" + 24 * "0"))'
	getcap planted-capable | grep -q cap_ && echo "GOT a file with a capability"
	:
}

"$1"
echo TRIED
