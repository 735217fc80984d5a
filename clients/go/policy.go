package nacre

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"
)

// CommandPolicy says which commands run at once, which never, and that a person is asked about the rest.
// An entry is a program, or a program and its first arguments: "git push".
//
// The server decides, and the sandbox enforces. So a policy becomes a profile of the server: write
// Profile() to a file, and start `nacre serve --policy FILE --profile NAME`.
type CommandPolicy struct {
	Allow []string
	Deny  []string
	Ask   []string // asked about, also if an entry of Allow names the program

	mutex   sync.Mutex
	session map[string]bool
}

// Limits of the commands of a profile; 0: those of the profile below.
type Limits struct {
	Timeout    time.Duration // of a command that asks for none
	MaxTimeout time.Duration
	MaxBytes   int64 // of each stream in a response
}

// Docker says what a command with a docker client gets.
type Docker struct {
	Allow bool     // commands reach the engine, and through it the whole machine
	Start []string // words of a command that starts the engine, if it is not running
}

// Profile is a profile with the name, as nacre's YAML. It stands on the profile "workspace", whose rules
// about paths and dangers hold as well.
func (p *CommandPolicy) Profile(name string, limits Limits, docker Docker) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "profile: %s\ninherits: workspace\ndefault: ask\n", quote(name))
	list := func(key string, words []string, inherited bool) {
		if len(words) == 0 {
			return
		}
		fmt.Fprintf(&out, "%s:\n", key)
		if inherited {
			fmt.Fprintf(&out, "  - %s\n", quote("@inherited"))
		}
		for _, word := range words {
			fmt.Fprintf(&out, "  - %s\n", quote(word))
		}
	}
	list("deny", p.Deny, false)
	list("ask", p.Ask, false)
	list("allow", p.Allow, true)
	times := map[string]time.Duration{"default": limits.Timeout, "max": limits.MaxTimeout}
	writeMap(&out, "timeout", times, func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" })
	writeMap(&out, "output", map[string]int64{"limit": limits.MaxBytes}, func(n int64) string { return strconv.FormatInt(n, 10) })
	if docker.Allow {
		fmt.Fprintf(&out, "docker:\n  allow: true\n")
		if len(docker.Start) > 0 {
			words, _ := json.Marshal(docker.Start)
			fmt.Fprintf(&out, "  start: %s\n", words)
		}
	}
	return out.Bytes()
}

func writeMap[T comparable](out *bytes.Buffer, key string, values map[string]T, text func(T) string) {
	var none T
	names := make([]string, 0, len(values))
	for name, value := range values {
		if value != none {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	if len(names) > 0 {
		fmt.Fprintf(out, "%s:\n", key)
	}
	for _, name := range names {
		fmt.Fprintf(out, "  %s: %s\n", name, text(values[name]))
	}
}

// quote writes a word as YAML reads it back: JSON is YAML.
func quote(word string) string {
	text, _ := json.Marshal(word)
	return string(text)
}

// SessionAllow approves a command for the life of this policy, exactly as Approval.Command and Cwd say it.
func (p *CommandPolicy) SessionAllow(question Approval) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.session == nil {
		p.session = map[string]bool{}
	}
	p.session[question.Cwd+"\x00"+question.Command] = true
}

// Approver asks `next` about each command once: the answer "session" is remembered here if the server
// cannot remember it, because the request has no session.
func (p *CommandPolicy) Approver(next Approver) Approver {
	return func(ctx context.Context, question Approval) (Answer, error) {
		p.mutex.Lock()
		known := p.session[question.Cwd+"\x00"+question.Command]
		p.mutex.Unlock()
		if known {
			return Answer{Answer: "once"}, nil
		}
		answer, err := next(ctx, question)
		if err != nil || answer.Answer != "session" || offers(question, "session") {
			return answer, err
		}
		p.SessionAllow(question)
		answer.Answer = "once"
		return answer, nil
	}
}

func offers(question Approval, answer string) bool {
	for _, each := range question.Answers {
		if each == answer {
			return true
		}
	}
	return false
}

// IsRefused is the refusal that an error of Run is, or nil.
func IsRefused(err error) *RefusedError {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}
