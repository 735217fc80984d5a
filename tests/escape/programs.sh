#!/bin/bash
# Running a program that the policy denies (dd, and mount of the same kind) by another way than its
# name. The program writes the file that the driver looks for, in the workspace, where writing is allowed: what
# matters is that the program ran.
# shellcheck source=/dev/null disable=SC2154,SC2317
. attack/world

args=(if=attack/token of=denied-ran bs=64 count=1)
dd=$(readlink -f /usr/bin/dd)
loader=$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null | head -1)

by_name() {
	dd "${args[@]}"
	/bin/dd "${args[@]}"
	/usr/bin/dd "${args[@]}"
	"$dd" "${args[@]}"
	/usr/bin/../bin/dd "${args[@]}"
	/proc/self/root/usr/bin/dd "${args[@]}"
	command dd "${args[@]}"
	env dd "${args[@]}"
	nice dd "${args[@]}"
	xargs -a /dev/null dd "${args[@]}"
	find . -maxdepth 0 -exec dd "${args[@]}" \;;
	( exec -a cat dd "${args[@]}" )
}

by_copy() {
	cp "$dd" ./mine
	chmod +x mine
	./mine "${args[@]}"
	cat "$dd" > mine2
	chmod +x mine2
	./mine2 "${args[@]}"
	cp "$dd" /tmp/mine
	/tmp/mine "${args[@]}"
	install -m 755 "$dd" mine3
	./mine3 "${args[@]}"
	tar cf - -C "$(dirname "$dd")" dd | tar xf - && ./dd "${args[@]}"
	rm -f mine mine2 mine3 dd /tmp/mine
}

by_link() {
	ln "$dd" hard
	./hard "${args[@]}"
	ln -s "$dd" soft
	./soft "${args[@]}"
	ln -s /usr/bin way
	way/dd "${args[@]}"
	rm -f hard soft way
}

by_loader() {
	"$loader" "$dd" "${args[@]}"
	"$loader" --preload "" "$dd" "${args[@]}"
	cp "$loader" ./ld
	./ld "$dd" "${args[@]}"
	rm -f ld
}

by_interpreter() {
	python3 -c 'import os,sys; os.execv(sys.argv[1], sys.argv[1:])' "$dd" "${args[@]}"
	perl -e 'exec @ARGV' "$dd" "${args[@]}"
	awk "BEGIN { system(\"$dd ${args[*]}\") }"
	printf '#!%s\n' "$dd" > script
	chmod +x script
	./script "${args[@]}"
	sh -c 'exec "$@"' x "$dd" "${args[@]}"
	rm -f script
}

by_busybox() {
	busybox dd "${args[@]}"
	busybox sh -c "dd ${args[*]}"
	ln -s "$(command -v busybox || echo /bin/busybox)" ddlink
	( exec -a dd busybox "${args[@]}" )
	cp /bin/busybox ./bb && ./bb dd "${args[@]}"
	toybox dd "${args[@]}"
	rm -f ddlink bb
}

by_memory() {
	python3 - "$dd" "${args[@]}" <<'P'
import os, sys
for flags in (0, os.MFD_CLOEXEC):
    try:
        fd = os.memfd_create("x", flags)
        with open(sys.argv[1], "rb") as file:
            os.write(fd, file.read())
        if os.fork() == 0:
            os.execve(f"/proc/self/fd/{fd}", sys.argv[1:], {})
        os.wait()
        if os.fork() == 0:
            os.execve(fd, sys.argv[1:], {})
        os.wait()
    except OSError as error:
        print("no:", error)
P

}

by_descriptor() {
	exec 8< "$dd"
	/proc/self/fd/8 "${args[@]}"
	/dev/fd/8 "${args[@]}"
	"$loader" /proc/self/fd/8 "${args[@]}"
	python3 -c 'import os,sys; os.execve(8, ["dd"]+sys.argv[1:], {})' "${args[@]}"
}

by_package() {
	local f
	while IFS= read -r f; do
		case $(file -b "$f" 2> /dev/null) in
			*ELF*)
				"$f" "${args[@]}"
			;;
		esac
	done < <(find /usr /opt -xdev -samefile "$dd" 2> /dev/null; find /usr/local /opt -xdev -name dd -type f 2> /dev/null)
}

by_unmask() {
	umount /usr/bin/dd
	umount -l "$dd"
	mount --bind /bin/true "$dd"
	chmod 755 "$dd"
	mv "$dd" ./x
	rm -f "$dd"
	dd "${args[@]}"
	"$dd" "${args[@]}"
}

by_path_change() {
	PATH=/usr/bin:/bin:/sbin:/usr/sbin:/usr/local/bin:/proc/self/root/bin
	hash -r
	dd "${args[@]}"
	hash -p /usr/bin/dd x
	x "${args[@]}"
	alias y=dd
	shopt -s expand_aliases
	eval y '"${args[@]}"'
	X=d
	${X}d "${args[@]}"
	'dd' "${args[@]}"
	d''d "${args[@]}"
	/usr/bin/d? "${args[@]}"
}

"$1"
echo TRIED
