package nacre

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ShellRequest is a command. Give either Command, which no shell reads, or Line.
type ShellRequest struct {
	Command         []string // program and arguments
	Line            string   // or a line, for a profile with a shell
	WorkingDir      string   // inside the workspace
	TimeoutSeconds  float64  // 0: the profile's own
	Env             map[string]string
	Stdin           string
	PTY             bool
	Description     string // what the command is for
	Profile         string // "": the client's
	Workspace       string // below a root of the server; "": the client's
	Session         string // calls of one session share directory, variables and files; "": the client's
	OutputMode      string // "separate", "merged", "stdout", "stderr"
	Force           bool   // override a nudge, never a refusal
	IdleTimeout     time.Duration
	ApprovalTimeout time.Duration // how long to wait for a person; with an Approver 5 minutes
}

// ShellResponse is what became of a command.
type ShellResponse struct {
	Stdout      string // everything, if the profile merges the streams
	Stderr      string
	ExitCode    int
	Success     bool
	TimedOut    bool
	Truncated   bool
	Duration    time.Duration
	TaskID      string
	Verdict     string // "allow", "ask", "nudge", "deny"
	Reason      string
	Recommended []string
	Result      *Result // all that the server said
}

// RefusedError says that a command did not run.
type RefusedError struct {
	Verdict     string // of the policy; "": turned away before, as for a directory that is not there
	Reason      string
	Recommended []string // what to use instead
	Rule        string
	Approval    string // its id, if a person can allow it
}

func (e *RefusedError) Error() string {
	if len(e.Recommended) > 0 {
		return e.Reason + " Use instead: " + strings.Join(e.Recommended, ", ") + "."
	}
	return e.Reason
}

// Answer is an answer to an approval: "once", "session", "sub" or "deny".
type Answer struct {
	Answer string `json:"answer"`
	Reason string `json:"reason,omitempty"`
}

// Approver decides about a command that needs a person.
type Approver func(ctx context.Context, question Approval) (Answer, error)

// Options of a client. The zero value is the server of this user, or what NACRE_URL and NACRE_TOKEN say.
type Options struct {
	Address   string // "http://HOST:PORT" or "unix:PATH"
	Token     string
	Approver  Approver // nil: a command that needs a person is refused
	Profile   string   // of requests that name none
	Workspace string   // likewise
	Session   string   // likewise
}

// Client is a server. Goroutines may share it.
type Client struct {
	door    *door
	options Options
}

// New checks the address. It does not connect.
func New(options Options) (*Client, error) {
	d, err := newDoor(options.Address, options.Token)
	if err != nil {
		return nil, err
	}
	return &Client{door: d, options: options}, nil
}

// Run runs a command to its end. If ctx ends before, the command is ended. A command that failed is
// not an error: see ExitCode. A refused one is a *RefusedError, beside the response.
func (c *Client) Run(ctx context.Context, request ShellRequest) (*ShellResponse, error) {
	if c.options.Approver != nil {
		return c.Stream(ctx, request, func(Text) error { return nil })
	}
	var result Result
	if err := c.door.do(ctx, "POST", "/v1/run", c.body(request), &result); err != nil {
		return nil, err
	}
	return respond(&result)
}

// Stream is Run that hands over output as it comes. An error of `each` ends the command.
func (c *Client) Stream(ctx context.Context, request ShellRequest, each func(Text) error) (*ShellResponse, error) {
	body := c.body(request)
	if _, given := body["approval_timeout_ms"]; !given && c.options.Approver != nil {
		body["approval_timeout_ms"] = (5 * time.Minute).Milliseconds()
	}
	answer, err := c.door.open(ctx, "POST", "/v1/run", body, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var result *Result
	err = events(answer.Body, func(name string, data []byte) error {
		switch name {
		case "output":
			return deliver(data, each)
		case "asked":
			return c.asked(ctx, data)
		case "result":
			return json.Unmarshal(data, &result)
		}
		return nil
	})
	if err == nil && result == nil {
		err = errors.New("nacre: the stream ended without a result")
	}
	if err != nil {
		return nil, err
	}
	return respond(result)
}

func deliver(data []byte, each func(Text) error) error {
	var text Text
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return each(text)
}

func (c *Client) asked(ctx context.Context, data []byte) error {
	var question Approval
	if err := json.Unmarshal(data, &question); err != nil || c.options.Approver == nil {
		return err
	}
	answer, err := c.options.Approver(ctx, question)
	if err != nil {
		return err
	}
	_, err = c.Answer(ctx, question.ID, answer)
	return err
}

// Start starts a command as a background task and returns its id.
func (c *Client) Start(ctx context.Context, request ShellRequest) (string, error) {
	body := c.body(request)
	body["background"] = true
	var result Result
	if err := c.door.do(ctx, "POST", "/v1/run", body, &result); err != nil {
		return "", err
	}
	response, err := respond(&result)
	if err != nil {
		return "", err
	}
	return response.TaskID, nil
}

// Explain says what would be decided about a command. Nothing runs.
func (c *Client) Explain(ctx context.Context, request ShellRequest) (*Explanation, error) {
	var explanation Explanation
	return &explanation, c.door.do(ctx, "POST", "/v1/explain", c.body(request), &explanation)
}

// Shell is POST /shell: one read-only command.
func (c *Client) Shell(ctx context.Context, command, workspace string, timeoutSeconds int) (*Shell, error) {
	body := map[string]any{"command": command}
	put(body, "workspace", workspace)
	put(body, "timeout", timeoutSeconds)
	var shell Shell
	return &shell, c.door.do(ctx, "POST", "/shell", body, &shell)
}

// Tasks lists the caller's tasks, running ones first.
func (c *Client) Tasks(ctx context.Context, limit int, running bool) ([]Task, error) {
	state := ""
	if running {
		state = "running"
	}
	var list struct{ Tasks []Task }
	err := c.door.do(ctx, "GET", at("/v1/tasks", "limit", number(int64(limit)), "state", state), nil, &list)
	return list.Tasks, err
}

// Task is one task.
func (c *Client) Task(ctx context.Context, id string) (*Task, error) {
	var task Task
	return &task, c.door.do(ctx, "GET", "/v1/tasks/"+url.PathEscape(id), nil, &task)
}

// OutputQuery says which piece of a task's output is wanted.
type OutputQuery struct {
	Since  int64         // continue from Next of the piece before
	Wait   time.Duration // for more, at most a minute
	Stream string        // "stdout", "stderr", "both"
	Tail   int           // only so many lines
	Grep   string        // only lines that match
}

// Output is a piece of a task's output.
func (c *Client) Output(ctx context.Context, id string, q OutputQuery) (*TaskOutput, error) {
	path := at("/v1/tasks/"+url.PathEscape(id)+"/output", "since", number(q.Since), "wait_ms", number(q.Wait.Milliseconds()),
		"stream", q.Stream, "tail", number(int64(q.Tail)), "grep", q.Grep)
	var output TaskOutput
	return &output, c.door.do(ctx, "GET", path, nil, &output)
}

// Follow hands over a task's output as it comes, until the task ends.
func (c *Client) Follow(ctx context.Context, id string, each func(Text) error) (*Task, error) {
	answer, err := c.door.open(ctx, "GET", "/v1/tasks/"+url.PathEscape(id)+"/output?follow=1", nil, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var task *Task
	err = events(answer.Body, func(name string, data []byte) error {
		if name == "output" {
			return deliver(data, each)
		}
		return json.Unmarshal(data, &task)
	})
	if err == nil && task == nil {
		err = errors.New("nacre: the stream ended before the task")
	}
	return task, err
}

// Stop ends a task with everything it started. now leaves out SIGTERM and the grace.
func (c *Client) Stop(ctx context.Context, id string, now bool) (*Order, error) {
	var order Order
	return &order, c.door.do(ctx, "POST", "/v1/tasks/"+url.PathEscape(id)+"/stop", map[string]bool{"now": now}, &order)
}

// Type types on the terminal of a task.
func (c *Client) Type(ctx context.Context, id, text string) (*Order, error) {
	var order Order
	return &order, c.door.do(ctx, "POST", "/v1/tasks/"+url.PathEscape(id)+"/input", map[string]string{"text": text}, &order)
}

// Sessions lists the caller's sessions that have files.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	return c.sessions(ctx, "GET", "/v1/sessions")
}

// Session is one session by its name, with the size of its files.
func (c *Client) Session(ctx context.Context, name string) (*Session, error) {
	return c.oneSession(ctx, "GET", name)
}

// EndSession removes the files of a session.
func (c *Client) EndSession(ctx context.Context, name string) (*Session, error) {
	return c.oneSession(ctx, "DELETE", name)
}

func (c *Client) sessions(ctx context.Context, method, path string) ([]Session, error) {
	var list struct{ Sessions []Session }
	err := c.door.do(ctx, method, path, nil, &list)
	return list.Sessions, err
}

func (c *Client) oneSession(ctx context.Context, method, name string) (*Session, error) {
	list, err := c.sessions(ctx, method, "/v1/sessions/"+url.PathEscape(name))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("nacre: the server named no session")
	}
	return &list[0], nil
}

// Approvals lists open questions; with all the answered ones, too.
func (c *Client) Approvals(ctx context.Context, all bool) ([]Approval, error) {
	path := "/v1/approvals"
	if all {
		path += "?all=1"
	}
	var list struct{ Approvals []Approval }
	err := c.door.do(ctx, "GET", path, nil, &list)
	return list.Approvals, err
}

// Answer answers a question.
func (c *Client) Answer(ctx context.Context, id string, answer Answer) (*Approval, error) {
	var approval Approval
	return &approval, c.door.do(ctx, "POST", "/v1/approvals/"+url.PathEscape(id), answer, &approval)
}

// Health says whether the server works.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	var health Health
	return &health, c.door.do(ctx, "GET", "/v1/health", nil, &health)
}

// body is a request as the server takes it.
func (c *Client) body(r ShellRequest) map[string]any {
	body := map[string]any{}
	if r.Command != nil {
		body["argv"] = r.Command
	}
	put(body, "command", r.Line)
	put(body, "cwd", r.WorkingDir)
	put(body, "timeout_ms", int64(r.TimeoutSeconds*1000))
	put(body, "idle_timeout_ms", r.IdleTimeout.Milliseconds())
	put(body, "approval_timeout_ms", r.ApprovalTimeout.Milliseconds())
	put(body, "input", r.Stdin)
	put(body, "pty", r.PTY)
	put(body, "description", r.Description)
	put(body, "output_mode", r.OutputMode)
	put(body, "force", r.Force)
	put(body, "profile", first(r.Profile, c.options.Profile))
	put(body, "workspace", first(r.Workspace, c.options.Workspace))
	put(body, "session", first(r.Session, c.options.Session))
	if len(r.Env) > 0 {
		body["env"] = r.Env
	}
	return body
}

func put[T comparable](body map[string]any, name string, value T) {
	var none T
	if value != none {
		body[name] = value
	}
}

func first(words ...string) string {
	for _, word := range words {
		if word != "" {
			return word
		}
	}
	return ""
}

func respond(r *Result) (*ShellResponse, error) {
	response := &ShellResponse{
		Stdout: r.Stdout + r.Output, Stderr: r.Stderr, ExitCode: r.ExitCode, Success: r.Success, TimedOut: r.TimedOut, Truncated: r.Truncated,
		Duration: time.Duration(r.DurationMS) * time.Millisecond, TaskID: deref(r.TaskID), Verdict: deref(r.Verdict), Reason: deref(r.Reason),
		Recommended: r.Recommended, Result: r,
	}
	if r.Success || r.TaskID != nil {
		return response, nil
	}
	refused := &RefusedError{Verdict: response.Verdict, Reason: response.Reason, Recommended: r.Recommended}
	if r.Rule != nil {
		refused.Rule = r.Rule.ID
	}
	if r.Approval != nil {
		refused.Approval = r.Approval.ID
	}
	return response, refused
}

// String is what a person is asked.
func (a Approval) String() string {
	return fmt.Sprintf("May this run in %s? %s (%s)", a.Cwd, a.Command, a.Reason)
}
