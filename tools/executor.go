package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/skills"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Files stores the files of sessions; [files.Store] implements it.
type Files interface {
	// SaveIf writes a file atomically if the present one is as the condition says, else the error is
	// [files.ErrChanged]; the empty condition allows everything. size is the number of bytes, or
	// negative if unknown. After an error the old file is as it was.
	SaveIf(ctx context.Context, session wire.SessionID, name string, from io.Reader, size int64, c files.Condition) (files.Entry, error)
	// Open opens a file for reading; the caller closes it. A missing file is [fs.ErrNotExist].
	Open(ctx context.Context, session wire.SessionID, name string) (files.Content, files.Entry, error)
	// OpenLocal is Open for programs, which need a file of the operating system.
	OpenLocal(ctx context.Context, session wire.SessionID, name string) (*os.File, files.Entry, error)
	// List returns the content of a folder, ordered by name; an empty list for a session without files.
	List(ctx context.Context, session wire.SessionID, folder string) ([]files.Entry, error)
	// Remove removes a file for good, and the parent folders that become empty.
	Remove(ctx context.Context, session wire.SessionID, name string) error
	// Trash deletes a file or folder so that it can be restored for a day.
	Trash(ctx context.Context, session wire.SessionID, name string) (files.Trashed, error)
}

// Settings reads and changes settings; [settings.Store] implements it.
type Settings interface {
	// Read returns the effective values for a subject. The error is that of the store.
	Read(ctx context.Context, of settings.Subject) (settings.Values, error)
	// Change changes values of a subject in its narrowest scope. Refused changes are in the outcome; the
	// error is that of the store.
	Change(ctx context.Context, of settings.Subject, by settings.Changer, changes []settings.Change) (settings.Outcome, error)
}

// Documents stores memory, hooks and permissions of users. It is a part of a store.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Config holds the dependencies of an [Executor].
type Config struct {
	Files     Files
	Documents Documents
	// Settings are the settings of users; nil means that there are none.
	Settings Settings
	// Web, unless nil, gives agents the tools for the web, and Scripts the one for JavaScript.
	Web     Web
	Scripts Scripts
	// Browser, unless empty, gives agents the tools for pages in a browser.
	Browser Browser
	// Notebooks gives agents the tools for notebooks.
	Notebooks bool
	// PDF reads PDF files; nil means that agents cannot read them.
	PDF PDF
	// Env has the environment variables that agents may read; without names they have no tool for it.
	Env Env
	// Apps, unless nil, gives agents the tools for apps.
	Apps *Apps
	// Skills are texts of the operator that agents can read.
	Skills []skills.Skill
	// Workspaces, unless nil, has the files that tell agents how to work in a session's workspace.
	Workspaces Workspaces
	// Servers, unless nil, has the tools of MCP servers.
	Servers Servers
	// Models asks models for MCP servers; nil means that servers cannot ask them.
	Models Models
	// Version is the hub's version.
	Version string
	Logger  *slog.Logger
}

// Executor executes tools. Create it with [New].
type Executor struct {
	cfg   Config
	tools *registry
	forms forms
	seen  seenFiles
}

// forms are the wire formats that tools decode and encode, created once.
type forms struct {
	content  wire.Format[wire.Content]
	layout   wire.Format[wire.Layout]
	table    wire.Format[wire.Table]
	chart    wire.Format[wire.Chart]
	action   wire.Format[wire.Action]
	actions  wire.Format[[]wire.Action]
	manifest wire.Format[wire.AppManifest]
}

// New returns an executor.
func New(cfg Config) *Executor {
	return &Executor{cfg: cfg, tools: newRegistry(cfg), forms: forms{
		content:  wire.FormatOf[wire.Content](),
		layout:   wire.FormatOf[wire.Layout](),
		table:    wire.FormatOf[wire.Table](),
		chart:    wire.FormatOf[wire.Chart](),
		action:   wire.FormatOf[wire.Action](),
		actions:  wire.FormatOf[[]wire.Action](),
		manifest: wire.FormatOf[wire.AppManifest](),
	}}
}

// Tools returns the tools of a caller, which depend on its profile and on whether it works on a
// todo. An unknown profile has none.
func (e *Executor) Tools(c Caller) []providers.Tool {
	if c.hasSmallWindow() {
		own := slices.DeleteFunc(e.smallList(), func(t providers.Tool) bool { return !e.tools.availableTo(e.tools.byName[t.Name], c) })
		return appendClientTools(own, c)
	}
	var out []providers.Tool
	for t := range e.eachTool(c) {
		if !e.tools.availableTo(t, c) {
			continue
		}
		a := e.tools.annotation(t)
		tool := providers.Tool{
			Name: modelName(t.name), Description: t.about, Schema: t.use.schema().text, Parallel: t.parallel, Title: a.title, Hints: a.hints,
		}
		if a.output != nil {
			tool.Output = a.output()
		}
		out = append(out, tool)
	}
	return out
}

// AllTools returns the tools of all agents, the same list for each, so that model servers cache it.
// The caller may use those of [Executor.Tools]; the calls of others are refused.
func (e *Executor) AllTools(c Caller) []providers.Tool {
	if c.hasSmallWindow() {
		return appendClientTools(e.smallList(), c)
	}
	out := make([]providers.Tool, 0, len(e.tools.all))
	for t := range e.eachTool(c) {
		out = append(out, t.forModel())
	}
	return out
}

// eachTool yields all tools of the hub, after them those of the caller's MCP servers and of the message's sender.
func (e *Executor) eachTool(c Caller) iter.Seq[*tool] {
	return func(yield func(*tool) bool) {
		for i := range e.tools.all {
			if !yield(&e.tools.all[i]) {
				return
			}
		}
		for _, t := range slices.Concat(e.serverTools(c), clientTools(c)) {
			if !yield(t) {
				return
			}
		}
	}
}

// use is one call of a tool.
type use struct {
	*Executor
	Caller
	call Call
	// fires says that the hooks of the tool are still to run.
	fires bool
	// quiet says that the call is not reported to the session.
	quiet bool
	// approvedCode is the code that the user was asked about.
	approvedCode string
}

// Call executes a tool. Every failure is an error result.
func (e *Executor) Call(ctx context.Context, c Caller, call providers.ToolCall) (r providers.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			r = e.panicked(call.Name, v)
		}
		r = bounded(r)
	}()
	if call.ID == "" {
		call.ID = rand.Text()
	}
	u := &use{Executor: e, Caller: c, call: Call{ToolCall: call, Tool: truncate(call.Name, 100), Repeatable: true}}
	t := e.lookUp(ctx, c, call.Name)
	if t == nil {
		return u.refuse(ctx, "There is no tool %q. The tools are: %s.", truncate(call.Name, 100), e.toolNames(c))
	}
	u.call.Tool = t.name
	if t.of != nil {
		u.call.Title = truncate(oneLine(t.of.title), 100)
	}
	if !e.tools.allowedIn(t, c.Mode) {
		return u.refuse(ctx, "The mode %q does not have %s. The tools are: %s.", c.Mode.ID, modelName(t.name), e.toolNames(c))
	}
	if !t.isFor(c) {
		return u.refuse(ctx, "The profile %q does not have %s. The tools are: %s.", c.Profile, modelName(t.name), e.toolNames(c))
	}
	u.quiet = t.todo
	if t.personal && c.Guest {
		return u.refuse(ctx, "%s is about the owner of this desktop, on all their desktops. Only the owner can use it, and this turn is a guest's.", modelName(t.name))
	}
	in, err := t.use.read(call.Input)
	if err != nil {
		return u.refuse(ctx, "The input of %s is wrong: %v. %s", modelName(t.name), err, t.use.schema().takes)
	}
	if err := (consent{u}).proceed(ctx); err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	if err := (consent{u}).mayRun(ctx, t, in); err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	u.call.Repeatable, u.call.Writes, u.fires = t.repeatable, t.writes, true
	return t.use.do(ctx, u, in)
}

func (e *Executor) toolNames(c Caller) string {
	names := e.tools.names(c)
	for _, t := range e.serverTools(c) {
		if e.tools.availableTo(t, c) {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// panicked logs a recovered panic and returns an error result with the text of an internal error:
// the value of the panic goes to the log only.
func (e *Executor) panicked(tool string, v any) providers.ToolResult {
	e.cfg.Logger.Error("panic in a tool", "tool", truncate(tool, 100), "panic", v, "stack", string(debug.Stack()))
	return failf("The tool %s failed: %s", truncate(tool, 100), wire.CodeExecutionFailed.Info().Message)
}

// refuse returns an error result for a call that is not executed and runs no hooks. Unless the
// call is quiet, it reports the result to the session.
func (u *use) refuse(ctx context.Context, format string, args ...any) providers.ToolResult {
	r := failf(format, args...)
	u.fires = false
	if u.quiet {
		return r
	}
	return u.act(ctx, func(*desktop.State) Plan { return Plan{Result: r} })
}

// act executes a plan in the session's step. A panic in the plan becomes an error result, so that
// it does not affect the session. If the plan succeeds, the hooks of the tool run.
func (u *use) act(ctx context.Context, plan func(*desktop.State) Plan) providers.ToolResult {
	r, err := u.Desktop.Steps.Act(ctx, u.Caller, u.call, func(s *desktop.State) (p Plan) {
		defer func() {
			if v := recover(); v != nil {
				p = Plan{Result: u.panicked(u.call.Tool, v)}
			}
			p.Result = bounded(p.Result)
		}()
		p = plan(s)
		if err := checkActions(p.Actions); err != nil {
			p = Plan{Result: fail(sentence(err.Error()))}
		}
		return p
	})
	if err != nil {
		return unreachable(err)
	}
	if !r.IsError {
		u.fire(ctx)
	}
	return r
}

// endTimeout bounds reporting the result of a tool whose turn may be over already.
const endTimeout = 10 * time.Second

// run executes a tool that does more than change the desktop, between Begin and End of the
// session. The hooks of the tool run before it.
func (u *use) run(ctx context.Context, do func(context.Context) (providers.ToolResult, error)) providers.ToolResult {
	if err := u.Desktop.Steps.Begin(ctx, u.Caller, u.call); err != nil {
		return unreachable(err)
	}
	u.fire(ctx)
	r := bounded(u.attempt(ctx, do))
	// The result is reported even if the turn no longer waits for it.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := u.Desktop.Steps.End(end, u.Caller, u.call, r); err != nil {
		u.cfg.Logger.Warn("tool result not delivered to the session", "session", u.Session, "tool", u.call.Tool, "error", err)
		if r.Source != "" { // the session does not know that the agent has read outside data
			return unreachable(err)
		}
	}
	return r
}

func (u *use) attempt(ctx context.Context, do func(context.Context) (providers.ToolResult, error)) (r providers.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			r = u.panicked(u.call.Tool, v)
		}
	}()
	r, err := do(ctx)
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil:
		return failf("Interrupted: %v.", context.Cause(ctx))
	default:
		return fail(sentence(err.Error()))
	}
}

func unreachable(err error) providers.ToolResult {
	return failf("The desktop did not take it: %v.", err)
}

// sentence formats an error as a sentence. An error that begins with a field name keeps its
// first letter.
func sentence(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.HasSuffix(word, ":") {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}

// id returns an id derived from the call. It stays the same if the next owner of the session
// repeats the call.
func (u *use) id(kind string) string {
	return kind + "-" + digest(string(u.Session), string(u.Agent), string(u.Turn), u.call.ID)
}

// QuestionPrefix begins the ids of all questions of agents.
const QuestionPrefix = "question-"

// QuestionID returns the id of a question about a call. It is the same if the next owner of the
// session asks again, and different for every other question, so that an answer applies only to
// what was asked.
func QuestionID(c Caller, call providers.ToolCall, asked ...string) string {
	parts := append([]string{string(c.Session), string(c.Agent), string(c.Turn), call.ID}, asked...)
	return QuestionPrefix + digest(append(parts, canonical(call.Input))...)
}

// question returns the id of a question of this call.
func (u *use) question(title, message string) string {
	return QuestionID(u.Caller, u.call.ToolCall, u.call.Tool, title, message)
}

// digest returns a short hash of texts. The lengths are hashed as well, so that the boundaries
// between texts matter.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// canonical returns the same text for equivalent JSON, because a store may format it
// differently. Invalid JSON is returned unchanged.
func canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// meta returns the metadata of the caller's actions.
func (u *use) meta() wire.ActionMeta { return wire.ActionMeta{AgentID: u.Agent} }

// quoted encodes a text as JSON.
func quoted(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // never happens for a string
	}
	return b
}
