package contextpool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// turnSet holds the turns under way and the stored state of the pool as a whole. It finds turns and
// stores them; other parts decide what they do.
type turnSet struct {
	*services
	budget *monitorBudget

	about poolState
	mode  *chosenMode      // nil for none
	byKey map[string]*turn // by turn.key()
	// answered is the first answer of this call for which the session may get a title, or nil.
	answered *answer
}

// ofJob returns the turn of a job, or nil.
func (s *turnSet) ofJob(name string) *turn {
	for _, t := range s.byKey {
		if t.Job != nil && t.Job.Name == name {
			return t
		}
	}
	return nil
}

// storeState stores the state of the pool as a whole.
func (s *turnSet) storeState() { s.step.AddOps(store.Set(aboutTable, aboutField, encode(&s.about))) }

// store stores a turn without its prompt, calls and actions.
func (s *turnSet) store(t *turn) { s.step.AddOps(store.Set(turnTable, t.key(), encode(t))) }

func (s *turnSet) storePrompt(t *turn) {
	s.step.AddOps(store.Set(promptTable, t.key(), encode(&t.prompt)))
}

// deleteCall deletes a call of a turn, whose result is in the thread.
func (s *turnSet) deleteCall(t *turn, id string) {
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool {
		if c.ID == id {
			s.step.AddOps(store.Unset(callPrefix+t.key(), strconv.Itoa(c.Number)))
		}
		return c.ID == id
	})
}

// delete deletes all stored data of a turn under way.
func (s *turnSet) delete(t *turn) {
	s.step.AddOps(store.Unset(turnTable, t.key()), store.Unset(promptTable, t.key()))
	if len(t.calls) > 0 {
		s.step.AddOps(store.Clear(callPrefix + t.key()))
	}
	if len(t.actions) > 0 {
		s.step.AddOps(store.Clear(actionPrefix + t.key()))
	}
}

// restore loads the stored turns.
func (s *turnSet) restore(tables map[string]map[string][]byte) error {
	if data, ok := tables[aboutTable][aboutField]; ok {
		if err := decode(data, &s.about); err != nil {
			return fmt.Errorf("agents: %w", err)
		}
	}
	if err := s.restoreMode(tables); err != nil {
		return err
	}
	for key, data := range tables[turnTable] {
		t := &turn{}
		if err := decode(data, t); err != nil {
			return fmt.Errorf("turn %s: %w", key, err)
		}
		if t.key() != key {
			return fmt.Errorf("turn %s: %w", key, errMisplaced)
		}
		if err := decode(tables[promptTable][key], &t.prompt); err != nil {
			return fmt.Errorf("prompt of turn %s: %w", key, err)
		}
		t.State = restoredState(t.State, t.StopReason)
		s.byKey[key] = t
		s.budget.acquire(t)
	}
	for name, table := range tables {
		if key, ok := strings.CutPrefix(name, callPrefix); ok {
			if err := s.byKey[key].restoreCalls(table); err != nil {
				return fmt.Errorf("tool calls of turn %s: %w", key, err)
			}
		}
		if key, ok := strings.CutPrefix(name, actionPrefix); ok {
			if err := s.byKey[key].restoreActions(table); err != nil {
				return fmt.Errorf("actions of turn %s: %w", key, err)
			}
		}
	}
	return nil
}

// allOps returns the operations that store all turns, their count and the chosen provider.
func (s *turnSet) allOps() (ops []store.Op) {
	ops = append(ops, store.Set(aboutTable, aboutField, encode(&s.about)))
	if s.mode != nil {
		ops = append(ops, store.Set(aboutTable, modeField, encode(s.mode)))
	}
	for _, t := range s.sorted() {
		ops = append(ops, store.Set(turnTable, t.key(), encode(t)), store.Set(promptTable, t.key(), encode(&t.prompt)))
		for _, c := range t.calls {
			ops = append(ops, t.callOp(c))
		}
		for n, a := range t.actions {
			ops = append(ops, t.actionOp(n, actionFormat().Append(nil, &a)))
		}
	}
	return ops
}

// maxTurns is the number of turns under way from which on a session begins no turns of ephemeral,
// window and task agents, except jobs of plans. The rest of desktop.MaxAgents is for one main agent
// per monitor.
const maxTurns = desktop.MaxAgents - desktop.MaxMonitors

// poolState is the stored state of the pool as a whole.
type poolState struct {
	// Provider is the provider that a user chose, empty if none was chosen.
	Provider string `json:"provider,omitempty"`
	// Turns counts all turns that ever began in the session.
	Turns uint64 `json:"turns,omitempty"`
	// TaskMode is the mode of the newest turn of a main, ephemeral or window agent; empty for none.
	TaskMode string `json:"taskMode,omitempty"`
	// Launched says that the launch hooks have run.
	Launched bool `json:"launched,omitempty"`
	// TitleSettled says that the hub finds no title any more: it has found one, or a person has
	// changed the title. TitleRuns counts the runs that were to find one.
	TitleSettled bool `json:"titled,omitempty"`
	TitleRuns    int  `json:"titleRuns,omitempty"`
}

// provider returns the provider of main agents whose turns begin now.
func (s *turnSet) provider() string { return s.providerFor(profiles.RoleMain) }

// providerFor returns the provider of turns that begin now: the one that was chosen for the session, by
// name or with a mode, if it exists, else the user's default of the role or of main agents, else that of the hub. Work behind
// the scenes has the default of its role also in a session with a choice of its own.
func (s *turnSet) providerFor(role profiles.Role) string { return s.providerIn(s.modeProvider(), role) }

// providerIn does what providerFor says, except that the provider of a mode, unless empty, counts before
// the one that was chosen for the session.
func (s *turnSet) providerIn(mode string, role profiles.Role) string {
	own := s.providers.DefaultProvider(role)
	switch {
	case own != "" && (role == profiles.RoleSummary || role == profiles.RoleTitle):
		return own
	case mode != "":
		return mode
	case s.isProviderChosen():
		return s.about.Provider
	case own != "":
		return own
	}
	return cmp.Or(s.providers.DefaultProvider(profiles.RoleMain), s.cfg.Provider)
}

// isProviderChosen reports whether a provider was chosen for the session that exists.
func (s *turnSet) isProviderChosen() bool {
	return s.about.Provider != "" && s.providers.HasProvider(s.about.Provider)
}

// modelRole returns what the turn uses a model for.
func (t *turn) modelRole() profiles.Role {
	switch {
	case t.Condensing != nil:
		return profiles.RoleSummary
	case t.isTitling():
		return profiles.RoleTitle
	case t.Job != nil:
		return profiles.RolePlan
	case t.Kind == wire.AgentWindow:
		return profiles.RoleWindow
	case t.Kind == wire.AgentTask:
		return profiles.RoleTask
	}
	return profiles.RoleMain
}

// sorted returns the turns under way, the oldest first.
func (s *turnSet) sorted() []*turn {
	return slices.SortedFunc(maps.Values(s.byKey), func(a, b *turn) int { return a.compare(b) })
}

// ofMain returns the turn of the monitor's main agent, or nil.
func (s *turnSet) ofMain(monitor wire.MonitorID) *turn { return s.ofAgent(mainAgent(monitor)) }

// ofAgent returns the agent's turn, or nil.
func (s *turnSet) ofAgent(agent string) *turn {
	for _, t := range s.byKey {
		if t.Agent == agent {
			return t
		}
	}
	return nil
}

// ofCaller returns the caller's turn, or nil. Turns that summarise call no tools and are
// never returned.
func (s *turnSet) ofCaller(c tools.Caller) *turn {
	for _, t := range s.byKey {
		if t.Role == c.Agent && t.ID == c.Turn && t.Condensing == nil {
			return t
		}
	}
	return nil
}

// tasksOf returns the tasks of a turn under way.
func (s *turnSet) tasksOf(t *turn) []*turn {
	var tasks []*turn
	for _, o := range s.sorted() {
		if o.Kind == wire.AgentTask && o.Parent == t.key() {
			tasks = append(tasks, o)
		}
	}
	return tasks
}

// parallelTurns counts the buttons' turns that run in parallel to the window agent's own turn.
func (s *turnSet) parallelTurns(agent string) int {
	n := 0
	for _, t := range s.byKey {
		if t.Kind == wire.AgentWindow && !t.Lasting && t.Beside == agent {
			n++
		}
	}
	return n
}

// setProvider changes the provider of later turns.
func (s *turnSet) setProvider(name string) {
	if name != s.about.Provider {
		s.about.Provider = name
		s.storeState()
	}
}

// setLaunched records that the launch hooks have run.
func (s *turnSet) setLaunched() {
	s.about.Launched = true
	s.storeState()
}
