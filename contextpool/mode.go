package contextpool

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// modeField is the field of aboutTable with the chosen mode. It is separate from the rest, which changes
// with every turn, because instructions may be long.
const modeField = "mode"

// Modes finds the modes of the session's user. It must not block for long.
type Modes interface {
	// FindMode returns the mode that the user means by an id or a name. The error is
	// [modes.ErrNotFound], or another one if the modes cannot be read.
	FindMode(idOrName string) (modes.Mode, error)
	// DefaultApproval returns the auto-approval rules of sessions without rules of their own.
	DefaultApproval() wire.AutoApproval
}

// chosenMode is the mode that was chosen for the session, as it was when a turn last began in it. The
// copy counts while the mode cannot be read, and after it was deleted.
type chosenMode struct {
	modes.Mode
	// ProviderChosen says that a provider was chosen after the mode, so that the mode's does not count.
	ProviderChosen bool `json:"providerChosen,omitempty"`
	// Missing is the model profile of the mode that did not exist when a row about that was last added.
	Missing string `json:"missing,omitempty"`
}

// SetMode chooses the mode of later turns, by its id or name; an empty one chooses none. Turns under way
// keep their mode. The error is that of [Modes].
func (p *Pool) SetMode(idOrName string, monitor wire.MonitorID, by wire.ConnectionID, message wire.MessageID) error {
	var next *chosenMode
	if idOrName != "" {
		m, err := p.findMode(idOrName)
		if err != nil {
			return err
		}
		next = &chosenMode{Mode: m}
	}
	p.turns.setMode(next)
	p.turns.reportMissingModel(monitor)
	p.step.Emit(wire.ModeChanged{Mode: p.turns.wireMode(), By: by, MessageID: message})
	if provider := p.turns.provider(); provider != p.state.Desktop().Provider() {
		p.step.Emit(wire.ProviderChanged{Provider: provider})
	}
	return nil
}

// ResetChoices drops the provider, the mode and the auto-approval rules that were chosen for the session, which
// is given to another user: they belong to the one before, and rules would grant what the new user never allowed.
// The next owner publishes the provider, which is a default of the new user.
func (p *Pool) ResetChoices() {
	p.turns.setProvider("")
	if p.turns.mode != nil {
		p.turns.setMode(nil)
		p.step.Emit(wire.ModeChanged{Mode: p.turns.wireMode()})
	}
	if _, own := p.state.Desktop().AutoApproval(); own {
		p.Questions.SetApproval(nil, "", "")
	}
}

// SetInstructions changes the custom instructions of the session for later turns.
func (p *Pool) SetInstructions(text string, by wire.ConnectionID, message wire.MessageID) {
	p.step.Emit(wire.InstructionsChanged{Instructions: text, By: by, MessageID: message})
}

// findMode returns the mode that the user means by an id or a name.
func (s *services) findMode(idOrName string) (modes.Mode, error) {
	if s.cfg.Modes == nil {
		return modes.Mode{}, modes.ErrNotFound
	}
	return s.cfg.Modes.FindMode(idOrName)
}

// setMode changes the mode of later turns.
func (s *turnSet) setMode(m *chosenMode) {
	s.mode = m
	if m == nil {
		s.step.AddOps(store.Unset(aboutTable, modeField))
		return
	}
	s.step.AddOps(store.Set(aboutTable, modeField, encode(m)))
}

// restoreMode loads the chosen mode.
func (s *turnSet) restoreMode(tables map[string]map[string][]byte) error {
	data, ok := tables[aboutTable][modeField]
	if !ok {
		return nil
	}
	s.mode = &chosenMode{}
	if err := decode(data, s.mode); err != nil {
		return fmt.Errorf("mode: %w", err)
	}
	return nil
}

// refreshMode reads the chosen mode again, for a turn that begins now, and publishes what has changed.
func (s *turnSet) refreshMode(monitor wire.MonitorID) {
	if s.mode == nil {
		return
	}
	if m, err := s.findMode(s.mode.ID); err == nil && m.ID == s.mode.ID {
		next := *s.mode
		next.Mode = m
		if string(encode(&next)) != string(encode(s.mode)) {
			s.setMode(&next)
		}
	}
	s.reportMissingModel(monitor)
	if shown := s.wireMode(); shown != s.state.Desktop().Mode() {
		s.step.Emit(wire.ModeChanged{Mode: shown})
	}
}

// wireMode returns the chosen mode as clients see it; its id is empty if there is none.
func (s *turnSet) wireMode() wire.AgentMode {
	m := s.mode
	if m == nil {
		return wire.AgentMode{}
	}
	return wire.AgentMode{
		ID: m.ID, Name: m.Name, ToolProfile: m.Tools, Model: m.Model, ModelMissing: m.Missing != "", OwnRules: m.Approval != nil,
	}
}

// modelOf returns the provider that a mode names, or "" if it names none that exists.
func (s *turnSet) modelOf(m *modes.Mode) string {
	if m == nil || m.Model == "" {
		return ""
	}
	provider, ok := s.providers.FindProvider(m.Model)
	if !ok {
		return ""
	}
	return provider
}

// modeProvider returns the provider of the chosen mode, or "" if it has none, it does not exist or another
// one was chosen later.
func (s *turnSet) modeProvider() string {
	if s.mode == nil || s.mode.ProviderChosen {
		return ""
	}
	return s.modelOf(&s.mode.Mode)
}

// reportMissingModel adds a row that says that the model profile of the chosen mode does not exist, once
// for each time that it disappears.
func (s *turnSet) reportMissingModel(monitor wire.MonitorID) {
	if s.mode == nil {
		return
	}
	missing := ""
	if s.mode.Model != "" && s.modelOf(&s.mode.Mode) == "" {
		missing = s.mode.Model
	}
	if missing == s.mode.Missing {
		return
	}
	next := *s.mode
	next.Missing = missing
	s.setMode(&next)
	if missing != "" {
		s.rows.AddRow(missingModelRow(s.mode.Mode, monitor))
	}
}

// missingModelRow is the row that says that the default is used instead of a mode's model.
func missingModelRow(m modes.Mode, monitor wire.MonitorID) wire.UIRow {
	return wire.UIRow{
		Type: wire.RowSay, Say: wire.SayError, MonitorID: monitor,
		Text: fmt.Sprintf("The mode %q names the model profile %q, which does not exist. The default is used.", m.Name, m.Model),
	}
}

// modeOf returns the mode in which a turn begins, or nil. Summaries and calls of programs have none, and a
// task has that of its parent.
func (s *turnSet) modeOf(t *turn) *modes.Mode {
	if t.Condensing != nil || t.Client != nil {
		return nil
	}
	if parent := s.byKey[t.Parent]; parent != nil {
		return parent.prompt.Mode
	}
	s.refreshMode(t.Monitor)
	return s.chosenMode()
}

// chosenMode returns a copy of the mode that was chosen, or nil.
func (s *turnSet) chosenMode() *modes.Mode {
	if s.mode == nil {
		return nil
	}
	m := s.mode.Mode
	return &m
}

// modeOfTodo returns the mode that the todo of a job names. The error is that of [Modes].
func (s *turnSet) modeOfTodo(j workflow.Job) (*modes.Mode, error) {
	m, err := s.findMode(j.Mode)
	if err != nil {
		return nil, err
	}
	if chosen := s.chosenMode(); j.Guest && chosen != nil && isWider(m.Tools, chosen.Tools) {
		m.Tools = chosen.Tools // a guest must not widen what the owner has chosen
	}
	if m.Model != "" && s.modelOf(&m) == "" {
		s.rows.AddRow(missingModelRow(m, j.Monitor))
	}
	return &m, nil
}

// isWider reports whether a tool profile has more tools than another.
func isWider(profile, than string) bool {
	all := modes.ToolProfiles()
	return slices.Index(all, profile) < slices.Index(all, than)
}

// providerOf returns the provider of a turn that begins now.
func (s *turnSet) providerOf(t *turn) string {
	model := s.modeProvider()
	if t.Job != nil && t.Job.Mode != "" {
		model = s.modelOf(t.prompt.Mode)
	}
	return s.providerIn(model, t.modelRole())
}

// modeID returns the id of the mode in which the turn works, or "".
func (t *turn) modeID() string {
	if t.prompt.Mode == nil {
		return ""
	}
	return t.prompt.Mode.ID
}

// switchesMode records the mode of a turn that begins, and reports whether it differs from that of the turn
// before it; for a job, from that of the session.
func (s *turnSet) switchesMode(t *turn) bool {
	switch {
	case t.Job != nil:
		return t.Job.Mode != "" && t.Job.Mode != s.wireMode().ID
	case t.Kind == wire.AgentTask || t.modeID() == s.about.TaskMode:
		return false
	}
	s.about.TaskMode = t.modeID()
	s.storeState()
	return true
}
