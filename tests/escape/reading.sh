#!/bin/bash
# Reading what is not the command's: secrets of the system, of the user, of other processes.
# One attempt per function; what can be read is printed, and the driver looks for its secrets there.
# shellcheck source=/dev/null disable=SC2154,SC2317
. attack/world

show() {
	local path
	for path in "$@"
	do
		if [ -e "$path" ] && head -c 20000 -- "$path" 2>&1 | tr '\0' '\n'; then
			echo " <- $path"
		else
			echo "no: $path"
		fi
	done
}

shadow() {
	show /etc/shadow /etc/shadow- /etc/gshadow /etc/sudoers
	ls -l /etc/shadow
	sed -n 's/^root:[^:]/GOT the hash of root: &/p' /etc/shadow
	sed -n 's/^root:[*!]*:[0-9]/GOT the shadow line of root: &/p' /etc/shadow
}

beside() {
	show "$beside" "$outside/secret.txt"
	find "$outside" -type f -exec cat {} +
}

dotdot() {
	show ../secret.txt ../../secret.txt ../../outside/secret.txt ../../../../../../../../..$outside/secret.txt
}

home_keys() {
	show "$home/.ssh/id_ed25519" "$home/.aws/credentials" "$home/.netrc" \
		"$home/.config/gcloud/token" ~/.ssh/id_ed25519 "$HOME/.netrc"
	ls -la "$home"
}

home_other() {
	cat /root/.bash_history /home/*/.bash_history /home/*/.ssh/* /root/.ssh/*
	show "$home/notes.txt"
	ls /home /root && ls -d /home/* /root/.[a-z]* | sed 's/^/GOT name /'
}

link_planted() {
	show link-out/secret.txt link-secret link-proc/1/environ
	ls -la link-out/
}

link_made() {
	ln -sfn "$outside" made
	ln -sfn "$beside" made-file
	show made/secret.txt made-file
	ln -sfn /proc/self/root/"$outside" made
	show made/secret.txt
	rm -f made made-file
}

proc_root() {
	local way
	for way in "root$outside" root/../outside cwd/../outside cwd/../../outside
	do
		cat /proc/[0-9]*/"$way/secret.txt" /proc/self/"$way/secret.txt" /proc/thread-self/"$way/secret.txt"
	done 2> /dev/null
	show "/proc/self/task/$$/root$beside"
}

proc_init() {
	show /proc/1/environ /proc/1/cmdline /proc/1/maps /proc/1/comm
	ls -l /proc/1/fd/ /proc/1/cwd /proc/1/root /proc/1/exe /proc/1/ns
	head -c 4 /proc/1/exe | grep -a ELF && echo "GOT the program of pid 1"
	show /proc/1/root/etc/shadow
	ls /proc/1/fd/ 2> /dev/null | sed 's/^/GOT descriptor of pid 1: /'
	:
}

proc_parent() {
	local p=$PPID
	while [ "${p:-0}" -gt 0 ]; do
		show "/proc/$p/environ" "/proc/$p/cmdline"
		ls -l "/proc/$p/fd/"
		for f in "/proc/$p/fd/"*
		do
			timeout 0.05 head -c 4000 "$f" < /dev/null
		done
		p=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status")
	done
}

proc_others() {
	cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | tr '\0' '\n' | grep -a SECRET
	show "/proc/$victim/environ" "/proc/$victim/cmdline" "/proc/$victim/comm"
	ls "/proc/$victim/cwd/"
	ls -d "/proc/$victim" | sed 's/^/GOT sight of /'
	:
}

environment() {
	env
	set
	declare -p
}

descriptors() {
	local fd
	for fd in /proc/self/fd/*
	do
		case $(readlink "$fd") in
			/proc/*/fd | pipe:* | /dev/null | */reading.sh)

			;;
			?*)
				ls -l "$fd"
				[ -e "$fd" ] && echo "GOT $fd -> $(readlink "$fd")"
			;;
		esac
	done
}

state_dir() {
	ls -laR "$state" && find "$state" -mindepth 1 | sed 's/^/GOT sight of /'
	find "$state" -type f -exec cat {} +
}

state_in_workspace() {
	ls -la .local/state/nacre "$HOME/.local/state/nacre"
	find .local/state/nacre -type f -exec cat {} +
	find .local/state/nacre -mindepth 1 | sed 's/^/GOT sight of /'
	for d in .local/state/nacre/tasks/*/
	do
		echo planted > "$d/planted"
	done
	echo planted > .local/state/nacre/planted && echo "GOT a file into the state directory"
	mv .local/state .local/gone && echo "GOT the state directory moved"
	:
}

workspace_is_home() {
	show .ssh/id_ed25519 .aws/credentials .netrc .config/gcloud/token
	ls -la .ssh .aws
	mv .ssh ssh
	show ssh/id_ed25519
	cp -r .ssh copy
	show copy/id_ed25519
	ln .netrc netrc
	show netrc
	ln -s .ssh s
	show s/id_ed25519
	mv .config c
	show c/gcloud/token
}

kernel_log() {
	dmesg | head -3 | sed 's/^/GOT kernel log: /'
	timeout 0.3 head -c 200 /dev/kmsg | sed 's/^/GOT kmsg: /'
	timeout 0.3 head -c 200 /proc/kmsg
}

kernel_memory() {
	head -c 16 /proc/kcore | grep -a ELF && echo "GOT kcore"
	head -c 64 /dev/mem | od | grep ' ' | sed 's/^/GOT mem /'
	head -c 64 /dev/port > /dev/null && echo "GOT port"
	awk '$1 !~ /^0+$/ { print "GOT kernel addresses " $0; exit }' /proc/kallsyms
	cat /proc/keys | sed 's/^/GOT key /'
	head -2 /proc/timer_list | sed 's/^/GOT timers /'
	head -2 /proc/slabinfo /proc/vmallocinfo /proc/pagetypeinfo 2> /dev/null | grep -v '^$' | sed 's/^/GOT /'
	head -c 8 /proc/kpagecount | od | sed 1q | grep ' ' | sed 's/^/GOT pages /'
	:
}

disk_raw() {
	local d
	for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/loop0 /dev/dm-0 /dev/root
	do
		head -c 2048 "$d" 2> /dev/null | wc -c | grep -vx 0 | sed "s|^|GOT bytes of $d: |"
	done
	mknod "$PWD/disk" b 254 0 && head -c 2048 disk | wc -c | grep -vx 0 | sed 's/^/GOT disk /'
	rm -f disk
	:
}

disk_planted() {
	head -c 2048 planted-disk | wc -c | grep -vx 0 | sed 's/^/GOT the planted node: /'
	:
}

tmp_of_others() {
	ls -la "$hosttmp" && cat "$hosttmp"/*
	show /tmp/nacre-escape-secret-"$id" /var/tmp/nacre-escape-secret-"$id" /dev/shm/nacre-escape-secret-"$id"
	ls -A /tmp /var/tmp /dev/shm | grep nacre-escape-secret- | sed 's/^/GOT name /'
	:
}

runtime_dirs() {
	ls /run /var/run | grep -v : | grep . | sed 's/^/GOT name in run: /'
	# What packages have put there is told.
	ls /var/lib | grep -vxE 'dpkg|apt|rpm|pacman|alternatives|texmf|gems|ghc|aspell|ispell|dictionaries-common' | sed 's/^/GOT name: /'
	ls /var/log /var/spool /srv /mnt /media /boot /root /home | grep -v : | grep . | sed 's/^/GOT name: /'
	ls -la /
	show "$root_secret"
	:
}

metadata() {
	stat "$beside" && echo "GOT sight of the file beside"
	test -e "$outside" && echo "GOT that it exists"
	compgen -G "$outside/*" | sed 's/^/GOT name /'
	:
}

bash_tricks() {
	mapfile -t a < "$beside" && echo "${a[@]}"
	printf '%s\n' "$(< "$beside")"
	exec 9< "$beside" && cat 0<&9
	. "$beside"
	read -r x < "$outside/secret.txt"
	echo "$x"
	bash --rcfile "$beside" -ic true
	history -r "$beside"
	history
	enable -f "$beside" x
}

tools_read() {
	tar cf - "$beside" | tar xOf -
	python3 -c 'import sys; print(open(sys.argv[1]).read())' "$beside"
	grep -r . "$outside"
	git hash-object -w "$beside"
	git diff --no-index /dev/null "$beside"
	diff "$beside" /dev/null
	curl -s "file://$beside"
	sort "$beside"
	find "$home" "$outside" -name secret.txt -exec cat {} +
	cpp "$beside"
	gcc -x c -include "$beside" -E /dev/null
}

"$1"
echo TRIED
