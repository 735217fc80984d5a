package nacre

// The objects of the HTTP interface, with its names. The tests compare them with the OpenAPI document
// of a running server.

// Result is what became of a command.
type Result struct {
	Success       bool      `json:"success"`
	ExitCode      int       `json:"exit_code"`
	Signal        *string   `json:"signal"`
	TimedOut      bool      `json:"timed_out"`
	Stages        []int     `json:"stages,omitempty"`
	DurationMS    int64     `json:"duration_ms"`
	Output        string    `json:"output,omitempty"`
	Stdout        string    `json:"stdout,omitempty"`
	Stderr        string    `json:"stderr,omitempty"`
	Truncated     bool      `json:"truncated"`
	StdoutBytes   int64     `json:"stdout_bytes"`
	StderrBytes   int64     `json:"stderr_bytes"`
	OutputFile    *string   `json:"output_file"`
	StderrFile    *string   `json:"stderr_file"`
	TaskID        *string   `json:"task_id"`
	Background    bool      `json:"background"`
	Note          *string   `json:"note,omitempty"`
	LeftRunning   []Left    `json:"left_running"`
	Verdict       *string   `json:"verdict"`
	Reason        *string   `json:"reason"`
	Rule          *Rule     `json:"rule"`
	Recommended   []string  `json:"recommended"`
	Approval      *Consent  `json:"approval"`
	LeftToSandbox bool      `json:"left_to_sandbox"`
	Killed        int       `json:"killed"`
	Processes     Processes `json:"processes"`
	Held          []Held    `json:"held,omitempty"`
	Notices       []string  `json:"notices"`
	Sandbox       Sandbox   `json:"sandbox"`
	Room          *Room     `json:"room"`
	Network       *Network  `json:"network"`
	Changes       *Changes  `json:"changes,omitempty"`
	Undo          *Undo     `json:"undo,omitempty"`
	Usage         Usage     `json:"usage"`
}

// Rule is the rule that decided.
type Rule struct {
	ID   string  `json:"id"`
	File *string `json:"file"`
	Line *int    `json:"line"`
}

// Consent is the approval that a result is about.
type Consent struct {
	ID    string  `json:"id"`
	State *string `json:"state"`
	By    *string `json:"by"`
}

// Left is a process that the command left running.
type Left struct {
	PID   int    `json:"pid"`
	Name  string `json:"name"`
	Ports []int  `json:"ports"`
}

// Changes is what the command changed in its view of the workspace.
type Changes struct {
	State     string     `json:"state"`
	Added     int        `json:"added"`
	Changed   int        `json:"changed"`
	Deleted   int        `json:"deleted"`
	Bytes     int        `json:"bytes"`
	List      []Change   `json:"list"`
	More      int        `json:"more"`
	Conflicts []Conflict `json:"conflicts"`
}

// Change is one of them: A added, D deleted, M contents, m mode or times, O a directory made anew, T type, R renamed.
type Change struct {
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	Was        string `json:"was,omitempty"`
	Directory  bool   `json:"directory,omitempty"`
	OtherNames int    `json:"other_names,omitempty"`
}

// Conflict is what others have changed meanwhile.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Undo tells whether the command can be taken back.
type Undo struct {
	Available bool    `json:"available"`
	Why       *string `json:"why"`
	ExpiresMs int     `json:"expires_ms,omitempty"`
}

// Held is a change of a protected path that waits for a person.
type Held struct {
	Path string `json:"path"`
	ID   string `json:"id"`
}

type Processes struct {
	Total  int      `json:"total"`
	Ended  []string `json:"ended"`
	Killed []string `json:"killed"`
}

// Sandbox is what was in force.
type Sandbox struct {
	Tier     *string  `json:"tier"`
	Layers   []string `json:"layers"`
	Missing  []string `json:"missing"`
	LimitHit *string  `json:"limit_hit"`
}

type Room struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	Fresh      bool   `json:"fresh"`
}

// Network is what became of the connections of a command whose profile allows names.
type Network struct {
	Connections  int         `json:"connections"`
	RefusedCount int         `json:"refused_count"`
	Refused      []Unreached `json:"refused"`
}

type Unreached struct {
	Name   string  `json:"name"`
	Port   *int    `json:"port"`
	Count  int     `json:"count"`
	Reason string  `json:"reason"`
	Rule   *string `json:"rule"`
}

type Usage struct {
	CPUMS    int64 `json:"cpu_ms"`
	MaxRSSKB int64 `json:"max_rss_kb"`
}

// Task is a command that no call waits for.
type Task struct {
	TaskID      string   `json:"task_id"`
	State       string   `json:"state"`
	Running     bool     `json:"running"`
	Command     *string  `json:"command"`
	Description *string  `json:"description"`
	Principal   *string  `json:"principal"`
	Background  bool     `json:"background"`
	StartedMS   int64    `json:"started_ms"`
	DurationMS  int64    `json:"duration_ms"`
	ExitCode    *int     `json:"exit_code"`
	Signal      *string  `json:"signal"`
	StdoutBytes int64    `json:"stdout_bytes"`
	StderrBytes int64    `json:"stderr_bytes"`
	Door        *string  `json:"door"`
	Profile     *string  `json:"profile"`
	Session     *string  `json:"session"`
	Workspace   *string  `json:"workspace"`
	Cwd         *string  `json:"cwd"`
	Terminal    *Size    `json:"terminal"`
	Tier        *string  `json:"tier"`
	Layers      []string `json:"layers"`
	Missing     []string `json:"missing"`
	CPUMS       *int64   `json:"cpu_ms"`
	MaxRSSKB    *int64   `json:"max_rss_kb"`
	TimeoutMS   *int64   `json:"timeout_ms"`
	Approval    *string  `json:"approval"`
	Processes   *int     `json:"processes"`
	Ports       []int    `json:"ports"`
	Published   []string `json:"published"`
}

// Size is that of a terminal.
type Size struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Order is a task after an order to it.
type Order struct {
	Task
	WasRunning bool `json:"was_running"`
}

// TaskOutput is a piece of a task's output; the next one begins at Next.
type TaskOutput struct {
	Task
	Output    string `json:"output,omitempty"`
	Stdout    string `json:"stdout,omitempty"`
	Stderr    string `json:"stderr,omitempty"`
	Truncated bool   `json:"truncated"`
	Next      int64  `json:"next"`
}

// Text is a piece of output in a stream. MissingBytes: so many were lost before it.
type Text struct {
	Stream       string `json:"stream"`
	Text         string `json:"text,omitempty"`
	MissingBytes int64  `json:"missing_bytes,omitempty"`
}

type Session struct {
	Room       string   `json:"room"`
	Session    string   `json:"session"`
	Principal  string   `json:"principal"`
	Profile    *string  `json:"profile"`
	Workspace  *string  `json:"workspace"`
	Cwd        *string  `json:"cwd"`
	Variables  []string `json:"variables"`
	Ports      []int    `json:"ports"`
	Generation int      `json:"generation"`
	MadeMS     int64    `json:"made_ms"`
	UsedMS     int64    `json:"used_ms"`
	InUse      bool     `json:"in_use"`
	Bytes      int64    `json:"bytes,omitempty"`
	Files      int64    `json:"files,omitempty"`
	Tasks      []string `json:"tasks"`
}

// Piece is a piece of what would run. Finding is an index into the findings: why it is marked.
type Piece struct {
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Finding *int   `json:"finding,omitempty"`
}

// LookFinding says why something is a risk. Level is low, medium or high.
type LookFinding struct {
	Level string `json:"level"`
	What  string `json:"what"`
	Text  string `json:"text"`
}

// Cover says what an answer covers, or why it is not offered.
type Cover struct {
	Answer  string `json:"answer"`
	Offered bool   `json:"offered"`
	Text    string `json:"text"`
}

// Approval is a question to a person. Answers lists what may be answered.
type Approval struct {
	ID           string        `json:"id"`
	State        string        `json:"state"`
	Principal    string        `json:"principal,omitempty"`
	Door         string        `json:"door,omitempty"`
	Session      string        `json:"session,omitempty"`
	Profile      string        `json:"profile,omitempty"`
	CreatedMS    int64         `json:"created_ms"`
	ExpiresMS    int64         `json:"expires_ms"`
	Command      string        `json:"command,omitempty"`
	Description  string        `json:"description,omitempty"`
	Workspace    string        `json:"workspace,omitempty"`
	Cwd          string        `json:"cwd,omitempty"`
	Sandbox      string        `json:"sandbox,omitempty"`
	Network      string        `json:"network,omitempty"`
	Reaches      string        `json:"reaches,omitempty"`
	Engine       string        `json:"engine,omitempty"`
	Input        string        `json:"input,omitempty"`
	Kind         string        `json:"kind"`
	Title        string        `json:"title"`
	Pieces       []Piece       `json:"pieces"`
	Risk         string        `json:"risk"`
	Findings     []LookFinding `json:"findings"`
	Programs     []string      `json:"programs"`
	Limits       []string      `json:"limits"`
	Covers       []Cover       `json:"covers"`
	Terminal     bool          `json:"terminal"`
	Names        string        `json:"names"`
	Held         string        `json:"held,omitempty"`
	TreeFiles    int           `json:"tree_files,omitempty"`
	RuleID       string        `json:"rule_id,omitempty"`
	RuleFile     string        `json:"rule_file,omitempty"`
	RuleLine     int           `json:"rule_line"`
	Reason       string        `json:"reason,omitempty"`
	Env          []string      `json:"env"`
	Files        []string      `json:"files"`
	Answers      []string      `json:"answers"`
	Answer       string        `json:"answer,omitempty"`
	AnsweredBy   string        `json:"answered_by,omitempty"`
	AnswerReason string        `json:"answer_reason,omitempty"`
	AnsweredMS   int64         `json:"answered_ms,omitempty"`
}

// Explanation is what would be decided about a command, and why.
type Explanation struct {
	Verdict       string    `json:"verdict"`
	Reason        *string   `json:"reason"`
	Rule          *Rule     `json:"rule"`
	LeftToSandbox bool      `json:"left_to_sandbox"`
	Recommended   []string  `json:"recommended"`
	Docker        Engine    `json:"docker"`
	Status        string    `json:"status"`
	Canonical     *string   `json:"canonical"`
	Commands      []Command `json:"commands"`
	Hosts         []Host    `json:"hosts"`
	Source        string    `json:"source"`
	Tree          []Node    `json:"tree"`
	Error         *Mistake  `json:"error"`
	Box           Box       `json:"box"`
}

// Node is a part of a line, and what it does. Start and End are bytes of Source; Command is an index
// into Commands.
type Node struct {
	Kind     string `json:"kind"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"`
	What     string `json:"what"`
	Command  *int   `json:"command,omitempty"`
	Children []Node `json:"children"`
}

// Mistake says why a line cannot be read, and where.
type Mistake struct {
	Message string `json:"message"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

// Box is the sandbox that the profile asks for.
type Box struct {
	Tier     string   `json:"tier"`
	Network  string   `json:"network"`
	Engine   string   `json:"engine"`
	Limits   []string `json:"limits"`
	Writable []string `json:"writable"`
}

// Host is a host that stands in a line, and what the profile says about it.
type Host struct {
	Name     string       `json:"name"`
	Port     *int         `json:"port"`
	Verdict  string       `json:"verdict"`
	Reason   *string      `json:"reason"`
	Rule     *NetworkRule `json:"rule"`
	RunnerUp *NetworkRule `json:"runner_up"`
	InForce  bool         `json:"in_force"`
}

type NetworkRule struct {
	List   string  `json:"list"`
	Entry  string  `json:"entry"`
	File   *string `json:"file"`
	Line   int     `json:"line"`
	Set    *string `json:"set"`
	Source *string `json:"source"`
}

type Engine struct {
	Client bool `json:"client"`
	Allow  bool `json:"allow"`
}

// Command is one command of a line. A word that cannot be known is nil.
type Command struct {
	Verdict       string    `json:"verdict"`
	Reason        *string   `json:"reason"`
	Rule          *Rule     `json:"rule"`
	LeftToSandbox bool      `json:"left_to_sandbox"`
	Words         []*string `json:"words"`
	Via           *string   `json:"via"`
	Resolved      *string   `json:"resolved"`
	Start         int       `json:"start"`
	End           int       `json:"end"`
}

// Shell is the answer of POST /shell.
type Shell struct {
	Success    bool   `json:"success"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	ReturnCode int    `json:"returncode"`
}

type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
