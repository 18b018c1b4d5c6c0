package contextpool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// ClientCall is a tool call of a program outside the hub, such as an editor, that an MCP token of the
// session admits. It is a turn of its own, without a model: users see it, are asked by it and can
// stop it like a turn of an agent.
type ClientCall struct {
	// ID identifies the call.
	ID wire.MessageID `json:"id"`
	// Token is the id of the MCP token, and Name the name that it was given.
	Token string `json:"token"`
	Name  string `json:"name"`
	// User is the user of the session when the call was admitted, or empty if the call came from an
	// earlier version.
	User string `json:"user,omitempty"`
	// Monitor and Profile are those of the token.
	Monitor wire.MonitorID `json:"monitor"`
	Profile string         `json:"profile"`
	Tool    string         `json:"tool"`
	// Replica is where the program waits for the result.
	Replica wire.ReplicaID `json:"replica"`
	// Server and Window are set for a call of the view of an MCP server in a window. The turn only asks for the
	// permission. Pressed says that the user has just pressed something in the view.
	Server  string        `json:"server,omitempty"`
	Window  wire.WindowID `json:"window,omitempty"`
	Pressed bool          `json:"pressed,omitempty"`
	// Input is not stored with the turn: a call that was cut off is not executed again.
	Input json.RawMessage `json:"input,omitempty"`
}

// StartClientCall starts the call of a program. Exactly one [EndListener.ClientCallEnded] follows, in
// the step in which the call ends or is refused.
func (p *Pool) StartClientCall(c ClientCall) {
	p.starter.startClientCall(c)
	p.advance()
}

// StopClientCalls ends the call with the id, or all calls of the token if the id is empty, as soon as
// they can be interrupted.
func (p *Pool) StopClientCalls(token string, id wire.MessageID, reason string) {
	for _, t := range p.turns.sorted() {
		if t.Client != nil && t.Client.Token == token && t.Client.ID == cmp.Or(id, t.Client.ID) {
			p.ender.stop(t, reason)
		}
	}
	p.advance()
}

// startClientCall implements [Pool.StartClientCall].
func (s *turnStarter) startClientCall(c ClientCall) {
	switch {
	case slices.ContainsFunc(s.turns.sorted(), func(t *turn) bool { return t.Client != nil && t.Client.ID == c.ID }):
		return
	case !s.state.Desktop().HasMonitor(c.Monitor):
		s.refuseClientCall(c, "The monitor %q of the MCP token does not exist.", c.Monitor)
		return
	case len(s.turns.byKey) >= maxTurns:
		s.refuseClientCall(c, "Too much is under way in this session; call again later.")
		return
	}
	t := &turn{Kind: wire.AgentClient, ID: c.ID, Monitor: c.Monitor, Profile: c.Profile, Client: &c}
	t.clientInput, c.Input = c.Input, nil
	s.register(t, "client-"+c.Name)
	s.launch(t, nil)
}

func (s *turnStarter) refuseClientCall(c ClientCall, format string, args ...any) {
	s.ends.ClientCallEnded(c, providers.ToolResult{Text: fmt.Sprintf(format, args...), IsError: true})
}

// isListed reports whether the turn is in the list of tasks. Turns that summarise or find a title and
// calls of programs are not.
func (t *turn) isListed() bool { return t.Condensing == nil && !t.isTitling() && t.Client == nil }

// clientResult returns the result of a program's call whose turn ends.
func (t *turn) clientResult(outcome providers.Outcome, reason string) providers.ToolResult {
	last := len(t.calls) - 1
	switch {
	case t.result != nil && (outcome == providers.Completed || !t.result.IsError):
		return *t.result
	case last >= 0 && t.calls[last].Ended:
		return t.calls[last].Result
	case t.result != nil:
		return providers.ToolResult{Text: fmt.Sprintf("Interrupted: %s.", reason), IsError: true}
	}
	return providers.ToolResult{Text: fmt.Sprintf("Interrupted: %s. It is not known whether %s has run.", reason, t.Client.Tool), IsError: true}
}
