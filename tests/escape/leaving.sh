#!/bin/bash
# What one command leaves to the next of its session: leaving.sh NAME leave, then leaving.sh NAME use, some
# times. Only what the second one prints or does counts: a program, alias, variable or file of the first that
# comes into force in a line that does not name it.
#
# Sourced by bash itself where the profile lets it, so that what a session keeps is kept.
# shellcheck source=/dev/null disable=SC2154,SC2317,SC2088,SC2164
top=${BASH_SOURCE[0]%/attack/*} # the second one may begin elsewhere
. "$top/attack/world"

tool=/tmp/tool-$id

# A program that says that it ran, and tries what no command may.
make_tool() { # FILE
	mkdir -p "$(dirname "$1")"
	printf '#!/bin/bash\necho "GOT ${0##*/}" >&2\ncat %s/secret.txt >&2\necho spoilt >%s/victim.txt\n' "$outside" "$outside" >"$1"
	chmod 755 "$1"
}

# Without the claim: what runs it may do so, and gains nothing.
claims_nothing() { # FILE...
	sed -i 2d "$@"
	printf 'dd if=%s/attack/token of=%s/denied-ran bs=64 count=1\n' "$top" "$top" | tee -a "$@" >/dev/null
}

# What git runs by itself, with each key that names a program.
git_runs() { # PROGRAM
	printf '[core]\n fsmonitor = %s\n pager = %s\n editor = %s\n sshCommand = %s\n hooksPath = /tmp/hooks-%s\n' \
		"$1" "$1" "$1" "$1" "$id"
	printf '[diff]\n external = %s\n[alias]\n x = !%s\n[credential]\n helper = %s\n[filter "f"]\n clean = %s\n' \
		"$1" "$1" "$1" "$1"
	printf '[include]\n path = /tmp/more-%s\n[includeIf "gitdir:/"]\n path = /tmp/more-%s\n[help]\n autocorrect = immediate\n' \
		"$id" "$id"
	printf '[gpg]\n program = %s\n[init]\n templateDir = /tmp/template-%s\n' "$1" "$id"
	make_tool "/tmp/hooks-$id/pre-commit"
	make_tool "/tmp/template-$id/hooks/post-commit"
	printf '[core]\n fsmonitor = %s\n' "$1" >"/tmp/more-$id"
}

use_git() { # [again]: each command that would run something
	local repo
	repo=$(mktemp -d)
	(
		cd "$repo" || exit
		git init -q . && printf 'a\n' >a && printf 'a filter=f\n' >.gitattributes && git add -A
		git -c user.name=x -c user.email=x@y commit -qm one
		printf 'b\n' >a
		git status --short
		git diff
		git log -p
		git x
		git statu 2>&1 | grep -aq Continuing && [ "$1" != again ] && echo "GOT another command"
		git ls-remote ssh://localhost:1/x
	) </dev/null 2>&1 | grep -av "is not a git command\|similar command\|^ *statu"
	rm -rf "$repo"
}

path() {
	local dir name
	[ "$step" = leave ] && for dir in ~/.local/bin ~/bin ~/.cargo/bin ~/.pyenv/shims /tmp /dev/shm "$top/bin" "$top"; do
		for name in ls git uname; do make_tool "$dir/$name"; done
	done
	[ "$step" = use ] && { hash -r; ls /; git --version; uname; command -v ls git uname; } 2>&1
	[ "$boxed" = 1 ] || rm -f {/tmp,/dev/shm}/{ls,git,uname}
}

git_home() {
	if [ "$step" = leave ]; then make_tool "$tool" && git_runs "$tool" >~/.gitconfig; else use_git; fi
}

git_config_dir() {
	[ "$step" = use ] && use_git && return
	make_tool "$tool"
	mkdir -p ~/.config/git
	git_runs "$tool" >~/.config/git/config
	printf '* filter=f\n' >~/.config/git/attributes
}

git_hidden() {
	if [ "$step" = leave ]; then
		git_config_dir
		# Not an operator's home, where nothing could be made.
		[ -e ~/.config/git/config ] && touch "$top/hidden" && chmod 000 ~/.config/git ~/.config
		# Without a box the project is in it, and nobody but root could begin there.
		[ "$boxed" = 1 ] && [ -e "$top/hidden" ] && chmod 000 ~
	elif [ -e "$top/hidden" ]; then
		chmod 700 ~ ~/.config ~/.config/git
		use_git
	fi
}

git_shapes() {
	[ "$step" = use ] && use_git && return
	make_tool "$tool"
	mkdir -p "/tmp/c-$id/git" ~/.config
	git_runs "$tool" >"/tmp/c-$id/git/config"
	ln -sf "/tmp/c-$id/git/config" ~/.gitconfig
	rm -rf ~/.config/git && ln -s "/tmp/c-$id/git" ~/.config/git
}

git_large() {
	[ "$step" = use ] && use_git && return
	make_tool "$tool"
	{ head -c 262144 /dev/zero | tr '\0' '#'; echo; git_runs "$tool"; } >~/.gitconfig
}

# A process that is left writes it again all the time. What git runs then is in the same box.
git_again() {
	[ "$step" = use ] && use_git again && use_git again && return
	make_tool "$tool"
	git_runs "$tool" >"/tmp/config-$id"
	claims_nothing "$tool" "/tmp/hooks-$id/pre-commit" "/tmp/template-$id/hooks/post-commit"
	(while [ -e "/tmp/config-$id" ]; do cp "/tmp/config-$id" ~/.gitconfig; done) >/dev/null 2>&1 &
	[ "$boxed" = 1 ] || (sleep 5; rm -f "/tmp/config-$id") >/dev/null 2>&1 &
}

ssh_config() {
	[ "$step" = use ] && { git ls-remote ssh://localhost:1/x; ssh -o BatchMode=yes -p 1 localhost; curl -sn http://127.0.0.1:1/; } 2>&1 && return
	make_tool "$tool"
	claims_nothing "$tool"
	mkdir -p ~/.ssh
	printf 'Host *\n ProxyCommand %s\n Match exec %s\n' "$tool" "$tool" >~/.ssh/config
	printf 'machine 127.0.0.1 login x password y\n' >~/.netrc
}

shell_files() {
	local name
	[ "$step" = leave ] && for name in ~/.bashrc ~/.profile ~/.bash_profile ~/.bash_login ~/.bash_env ~/.bash_aliases \
		~/.bash_logout ~/.inputrc ~/.zshenv /tmp/.bashrc .bashrc; do
		echo 'echo GOT a file of the shell' >"$name"
	done
	[ "$step" = use ] && bash -c : && sh -c : && env bash -c true
}

variables() {
	local name
	if [ "$step" = leave ]; then
		make_tool "$tool"
		ls() { echo GOT function; }
		export -f ls
		shopt -s expand_aliases
		alias cat='echo GOT alias'
		export BASH_ENV=$tool ENV=$tool PROMPT_COMMAND=$tool PS4="\$($tool)" LD_PRELOAD=$tool LD_LIBRARY_PATH=/tmp CDPATH=/etc \
			GLOBIGNORE='*' LOCPATH=/tmp NLSPATH=/tmp TEXTDOMAINDIR=/tmp GCONV_PATH=/tmp LD_AUDIT=$tool NACRE_SESSION=other \
			NACRE_STATE_DIR=/tmp GLIBC_TUNABLES=x SHELLOPTS BASHOPTS 2>/dev/null
		return
	fi
	ls / | head -2
	cat /dev/null
	for name in BASH_ENV ENV PROMPT_COMMAND LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT CDPATH GLOBIGNORE LOCPATH NLSPATH TEXTDOMAINDIR GCONV_PATH \
		NACRE_SESSION NACRE_STATE_DIR GLIBC_TUNABLES; do
		[ -z "${!name-}" ] || echo "GOT variable $name"
	done
	[[ $PS4 == *tool* ]] && echo "GOT PS4"
	(set -x; :) 2>&1
	declare -F ls
	alias | grep -a GOT
}

# Programs that the profile lists read more than their arguments, if home has it.
settings() {
	if [ "$step" = leave ]; then
		make_tool "$tool"
		for dir in $(python3 -c 'import site; print(site.getusersitepackages())') ~/.local/lib/python3/site-packages; do
			mkdir -p "$dir" && echo 'print("GOT user site")' >"$dir/usercustomize.py"
		done
		printf 'write-out = "GOT curlrc\\n"\n' >~/.curlrc
		printf 'script-shell=%s\nnode-options=--require %s\n' "$tool" "$tool" >~/.npmrc
		mkdir -p ~/.config/go ~/.cargo ~/.gradle
		printf 'GOFLAGS=-toolexec=%s\n' "$tool" >~/.config/go/env
		printf '[alias]\nbuild = "run"\n' >~/.cargo/config.toml
		printf '.shell %s\n' "$tool" | tee ~/.sqliterc ~/.psqlrc ~/.jq ~/.wgetrc ~/.gradle/init.gradle ~/.mavenrc >/dev/null
		git_runs "$tool" >~/.gitconfig
		return
	fi
	python3 -c pass
	curl -s file:///dev/null
	[ -z "$(find ~ -name '.curlrc' -o -name .npmrc -o -name .gitconfig)" ] || [ "$boxed" = 0 ] || echo "GOT home"
	use_git
}

program_copy() {
	local file
	for file in /tmp/copy-$id ~/copy-$id /dev/shm/copy-$id; do
		[ "$step" = leave ] && cat /usr/bin/dd >"$file" && chmod 755 "$file"
		[ "$step" = use ] && { "$file" if="$top/attack/token" of="$top/denied-ran" bs=64 count=1; rm -f "$file"; }
	done 2>&1
}

set_user_id() {
	local file
	for file in /tmp/set-$id ~/set-$id /dev/shm/set-$id; do
		if [ "$step" = leave ]; then
			cp /bin/cat "$file"
			chmod 4755 "$file"
			chmod u+s "$file"
			python3 -c 'import os, sys; os.chmod(sys.argv[1], 0o6755)' "$file"
		else
			[ ! -u "$file" ] || echo "GOT $file"
			"$file" "$root_secret"
			rm -f "$file"
		fi
	done 2>&1
}

# The workspace lies below /tmp: what is on the way to it there is the room's.
mount_points() {
	local first=/${top#/} way
	way=/tmp/$(cut -d/ -f3 <<<"$first")
	if [ "$step" = leave ]; then
		mv "$way" "/tmp/moved-$id"
		ln -s "$outside" "$way"
		return
	fi
	pwd
	echo x >>"$top/victim.txt"
	echo x >>"$top/work/victim.txt"
	cat "$top/secret.txt" "$way/secret.txt"
}

# The directory that the session is in becomes a link while nothing of it runs.
directory() {
	if [ "$step" = leave ]; then
		mkdir -p sub && cd sub || return
		(sleep 0.3; mv "$top/sub" "$top/gone"; ln -s "$outside" "$top/sub") >/dev/null 2>&1 &
		return
	fi
	for _ in $(seq 100); do [ -L "$top/sub" ] && break; sleep 0.1; done
	cat secret.txt
	echo spoilt >victim.txt
}

# Where nacre itself looks, and what it removes at the end.
shapes() {
	[ "$step" = use ] && { ls / >/dev/null; return; }
	cd /tmp || return
	for _ in $(seq 400); do mkdir -p d && cd d || break; done
	cd ~ || return
	touch $'new\nline' $'\xff\xfe' "ü" "$(printf 'x%.0s' $(seq 255))" -- -rf
	mkfifo .gitconfig fifo
	mkdir -p .config && mkfifo .config/git
	truncate -s 1T sparse 2>/dev/null
	ln -s / root
	ln -s loop loop
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	mkdir closed && touch closed/x && chmod 000 closed ~ # not an operator's home, where nothing was made
}

# What another session finds of it: the driver uses it there.
apart() {
	local file
	if [ "$step" = leave ]; then
		for file in /tmp/left-$id ~/left-$id /dev/shm/left-$id; do echo "GOT $file" >"$file"; done
		python3 -c "
import socket, sys
s = [socket.create_server(('127.0.0.1', $listen_port)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
s[1].bind('\0left-$id'); s[2].bind('/tmp/sock-$id'); s[1].listen(); s[2].listen()
open('/tmp/ready-$id', 'w'); import time; time.sleep(30)" >/dev/null 2>&1 &
		for _ in $(seq 100); do [ ! -e "/tmp/ready-$id" ] || break; sleep 0.05; done # it may not be able to
		return
	fi
	cat /tmp/left-$id ~/left-$id /dev/shm/left-$id
	python3 -c "
import socket
for family, name in ((2, ('127.0.0.1', $listen_port)), (1, '\0left-$id'), (1, '/tmp/sock-$id')):
    try: socket.socket(family).connect(name); print('GOT', repr(name))
    except OSError: pass"
	rm -f {/tmp,/dev/shm}/left-$id ~/left-$id /tmp/sock-$id /tmp/ready-$id
}

step=$2
"$1"
echo TRIED
