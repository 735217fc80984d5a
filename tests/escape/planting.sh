#!/bin/bash
# Leaving something in the workspace that runs on the operator's side later: hooks and settings of
# git, editors and agents. The driver looks afterwards whether a protected path changed or appeared.
# shellcheck source=/dev/null disable=SC2154,SC2317
. attack/world

hook='#!/bin/sh
touch pwned-by-a-hook'

hook_new() {
	printf '%s\n' "$hook" > .git/hooks/pre-commit
	cp /bin/true .git/hooks/post-checkout
	mkdir .git/hooks/dir
	ln -s ../../evil .git/hooks/pre-push
}

hook_changed() {
	printf '%s\n' "$hook" >> .git/hooks/existing
	printf '%s\n' "$hook" > .git/hooks/existing
	chmod +x .git/hooks/sample
	sed -i 's/.*/touch pwned/' .git/hooks/existing
	truncate -s 0 .git/hooks/existing
	touch .git/hooks/existing
}

hook_link() {
	ln .git/hooks/existing hard && printf '%s\n' "$hook" > hard
	printf '%s\n' "$hook" > evil
	chmod +x evil
	ln evil .git/hooks/pre-commit
	mv evil .git/hooks/pre-commit
	exec 7< .git/hooks/existing
	printf '%s\n' "$hook" > /proc/self/fd/7
	rm -f evil
}

hook_dir_away() {
	mv .git/hooks .git/hooks-old
	mkdir .git/hooks
	printf '%s\n' "$hook" > .git/hooks/pre-commit
	rm -rf .git/hooks
	rmdir .git/hooks
	ln -s ../evil .git/hooks
	mkdir -p evil
	mv -T evil .git/hooks
	rmdir evil
}

git_away() {
	mv .git git-old && mkdir -p .git/hooks && printf '%s\n' "$hook" > .git/hooks/pre-commit
	cp -r .git git-copy
	rm -rf .git
	mv -T git-copy .git
	rm -rf git-copy
	mkdir swap
	python3 -c 'import ctypes; print(ctypes.CDLL(None).renameat2(-100, b"swap", -100, b".git", 2))'
	rm -rf swap
}

config_file() {
	git config core.hooksPath evil
	git config core.fsmonitor "touch pwned"
	git config --add alias.st '!touch pwned'
	printf '[core]\n\thooksPath = evil\n' >> .git/config
	printf '[core]\n\tfsmonitor = evil\n' > evil.cfg
	mv evil.cfg .git/config
	cp evil.cfg .git/config
	rm -f .git/config
	ln -sf ../evil .git/config
	echo x > .git/config.lock && mv .git/config.lock .git/config
	git -c core.hooksPath=evil init
	rm -f evil.cfg .git/config.lock
}

config_other() {
	git config --worktree core.hooksPath evil
	printf '[core]\n\thooksPath = evil\n' > .git/config.worktree
	mkdir -p .git/info
	printf '* filter=evil\n' > .git/info/attributes
	mkdir -p .git/modules/x/hooks && printf '%s\n' "$hook" > .git/modules/x/hooks/pre-commit
	:
}

submodule() {
	local inner=.git/modules/group/inner
	printf '%s\n' "$hook" > $inner/hooks/pre-commit
	printf '[core]\n\tfsmonitor = evil\n' >> $inner/config
	mv .git/modules old-modules
	mv .git/modules/group old-group
	mkdir -p evil/hooks evil/refs evil/objects
	cp $inner/HEAD evil/HEAD
	printf '[core]\n\tfsmonitor = evil\n' > evil/config
	echo 'gitdir: ../evil' > inner/.git
	rm -f inner/.git
	mv inner old-inner && mkdir inner && echo 'gitdir: ../evil' > inner/.git
	ln -sfn ../evil inner/.git
	rm -rf evil
}

named() {
	printf '%s\n' "$hook" > tools/hooks/pre-commit
	printf '%s\n' "$hook" >> tools/hooks/existing
	printf '[core]\n\tfsmonitor = evil\n' >> tools/shared
	mv tools/shared tools/old
	mv tools/hooks tools/old-hooks
	mv tools old-tools && mkdir -p tools/hooks && printf '%s\n' "$hook" > tools/hooks/pre-commit
	rm -rf tools/hooks tools/shared
	ln -sfn ../evil tools/hooks
}

common_dir() {
	mkdir -p evil/hooks evil/refs evil/objects
	printf '[core]\n\thooksPath = evil\n' > evil/config
	echo ../evil > .git/commondir
}

bare() {
	mkdir -p objects refs
	mv .git/HEAD HEAD || echo 'ref: refs/heads/main' > HEAD
	printf '[core]\n\tfsmonitor = evil\n' > config
}

led_to() {
	printf '%s\n' "$hook" > scripts/hook
	mv scripts old-scripts && mkdir scripts && printf '%s\n' "$hook" > scripts/hook
	mkdir -p evil && printf '%s\n' "$hook" > evil/pre-commit
	ln -sfn ../evil tools/way
	printf '%s\n' "$hook" > elsewhere/hooks/pre-commit
	mv elsewhere/hooks old-hooks && mkdir elsewhere/hooks
	mv elsewhere old && mkdir -p elsewhere/hooks && printf '%s\n' "$hook" > elsewhere/hooks/pre-commit
	mkdir -p settings && echo 'repos: []' > settings/hooks.yaml
}

parent_link() {
	rm -rf .git/info
	ln -s "$outside" .git/info
	ln -s "$outside" .husky
	mkdir -p sub
	ln -s "$outside" sub/.git
}

settings_new() {
	mkdir .vscode && echo '{}' > .vscode/tasks.json
	echo '{}' > .mcp.json
	mkdir -p .claude && echo '{}' > .claude/settings.json
	mkdir -p .idea .cursor .github/workflows
	echo x > .envrc
	echo x > .bashrc
	echo x > .profile
	echo x > .zshrc
	echo x > .gitconfig
	echo x > .nacre.yaml
	echo x > nacre.yaml
	echo x > .ripgreprc
	mkdir -p .config/git .config/autostart .config/systemd/user .hg
	echo x > .config/git/config
	echo x > .config/autostart/x.desktop
	echo x > .config/systemd/user/x.service
	echo x > .bash_aliases
	echo x > .hg/hgrc
}

settings_links() {
	ln -s "$outside" .vscode
	ln -s evil .mcp.json
	mkfifo .bashrc
	ln -s . .claude
	ln attack/world .gitconfig
}

settings_stubborn() {
	local i
	mkdir -p .vscode/x && echo x > .vscode/x/y
	chmod 000 .vscode/x .vscode
	mkdir .claude && cd .claude && for ((i = 0; i < 120; i++))
	do
		mkdir d && cd d || break
	done
	cd ~- || cd /
	:
}

settings_late() {
	setsid bash -c 'trap "" TERM HUP; exec 2>/dev/null; for ((i = 0; i < 20000; i++)); do mkdir .vscode; echo \
		"{}" >.mcp.json; done' x "$marker" > /dev/null 2>&1 & disown
	sleep 0.05
}

settings_case() {
	mkdir .VSCODE
	echo '{}' > .Mcp.Json
	mv .VSCODE .vscode
	mv .Mcp.Json .mcp.json
	mkdir tmp.d
	echo x > tmp.d/a
	mv -T tmp.d .claude
}

sub_repository() {
	mkdir -p sub && git init -q sub && printf '%s\n' "$hook" > sub/.git/hooks/pre-commit
	:
}

own_mounts() {
	umount .git/hooks
	umount -l .git/config
	mount --bind evil .git/hooks
	:
}

"$1"
echo TRIED
