package contextpool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Names of tables and fields in the store. Parts of a turn or a message that do not change, or
// change one by one, have tables of their own.
const (
	aboutTable  = "pool"
	aboutField  = "about"
	turnTable   = "turns"
	promptTable = "turns.prompt"
	queueTable  = "queue"
	saidTable   = "queue.said"
	groupTable  = "groups"
	groupField  = "pairs"
	reloadTable = "reload"
	reloadNext  = "next"
	askTable    = "asks"

	// Prefixes of per-turn tables: clearing one table deletes all calls or actions of a turn.
	callPrefix   = "turns.calls:"
	actionPrefix = "turns.deeds:"

	budgetPrefix = "budget:"
	budgetField  = "used"
)

// errMisplaced means that a stored value does not match the key it is stored under.
var errMisplaced = errors.New("it is of something else")

var actionFormat = sync.OnceValue(wire.FormatOf[wire.Action])

func byArrival(a, b *queuedMessage) int { return cmp.Compare(a.Arrived, b.Arrived) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

func (p *Pool) storeState() { p.step.AddOps(store.Set(aboutTable, aboutField, encode(&p.about))) }

func (p *Pool) storeTurn(t *turn) { p.step.AddOps(store.Set(turnTable, t.key(), encode(t))) }

func (p *Pool) storePrompt(t *turn) {
	p.step.AddOps(store.Set(promptTable, t.key(), encode(&t.prompt)))
}

func (t *turn) callOp(c *call) store.Op {
	return store.Set(callPrefix+t.key(), strconv.Itoa(c.Number), encode(c))
}

func (t *turn) actionOp(n int, data []byte) store.Op {
	return store.Set(actionPrefix+t.key(), strconv.Itoa(n), data)
}

func (p *Pool) deleteCall(t *turn, id string) {
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool {
		if c.ID == id {
			p.step.AddOps(store.Unset(callPrefix+t.key(), strconv.Itoa(c.Number)))
		}
		return c.ID == id
	})
}

// deleteTurn deletes all stored data of a turn under way.
func (p *Pool) deleteTurn(t *turn) {
	p.step.AddOps(store.Unset(turnTable, t.key()), store.Unset(promptTable, t.key()))
	if len(t.calls) > 0 {
		p.step.AddOps(store.Clear(callPrefix + t.key()))
	}
	if len(t.actions) > 0 {
		p.step.AddOps(store.Clear(actionPrefix + t.key()))
	}
}

func (w *queuedMessage) field() string { return strconv.FormatUint(w.Arrived, 10) }

func (p *Pool) storeQueued(w *queuedMessage) {
	p.step.AddOps(store.Set(queueTable, w.field(), encode(w)))
}

func (p *Pool) storeQueuedContent(w *queuedMessage) {
	p.step.AddOps(store.Set(saidTable, w.field(), encode(w.content())))
}

func (p *Pool) deleteQueued(w *queuedMessage) {
	p.step.AddOps(store.Unset(queueTable, w.field()), store.Unset(saidTable, w.field()))
}

func (p *Pool) storeGroups() {
	pairs := p.groups.Pairs()
	if len(pairs) == 0 {
		p.step.AddOps(store.Unset(groupTable, groupField))
		return
	}
	p.step.AddOps(store.Set(groupTable, groupField, encode(pairs)))
}

func (p *Pool) storeBudget(m wire.MonitorID) {
	s := p.budget.State(m)
	if len(s.Actions)+len(s.Output) == 0 {
		p.step.AddOps(store.Unset(budgetPrefix+string(m), budgetField))
		return
	}
	p.step.AddOps(store.Set(budgetPrefix+string(m), budgetField, encode(&s)))
}

// storeReload stores an entry of the reload cache, or deletes it if the cache has evicted it.
func (p *Pool) storeReload(id string) {
	e, ok := p.reload.Get(p.step.Now(), id)
	if !ok {
		p.step.AddOps(store.Unset(reloadTable, id))
		return
	}
	p.step.AddOps(store.Set(reloadTable, id, encode(e)), store.Set(reloadTable, reloadNext, encode(p.reload.Next())))
}

// AllOps returns the operations that write the whole state of the pool, for a store that has
// lost data.
func (p *Pool) AllOps() []store.Op {
	ops := []store.Op{store.Set(aboutTable, aboutField, encode(&p.about))}
	for _, t := range p.sortedTurns() {
		ops = append(ops, store.Set(turnTable, t.key(), encode(t)), store.Set(promptTable, t.key(), encode(&t.prompt)))
		for _, c := range t.calls {
			ops = append(ops, t.callOp(c))
		}
		for n, a := range t.actions {
			ops = append(ops, t.actionOp(n, actionFormat().Append(nil, &a)))
		}
	}
	for _, q := range []*policies.Queue[*queuedMessage]{p.mainQueue, p.windowQueue} {
		for _, key := range q.Keys() {
			for _, w := range q.All(key) {
				ops = append(ops, store.Set(queueTable, w.field(), encode(w)), store.Set(saidTable, w.field(), encode(w.content())))
			}
		}
	}
	if pairs := p.groups.Pairs(); len(pairs) > 0 {
		ops = append(ops, store.Set(groupTable, groupField, encode(pairs)))
	}
	for _, m := range p.state.Desktop().Monitors() {
		if s := p.budget.State(m.MonitorID); len(s.Actions)+len(s.Output) > 0 {
			ops = append(ops, store.Set(budgetPrefix+string(m.MonitorID), budgetField, encode(&s)))
		}
	}
	for _, e := range p.reload.Entries() {
		ops = append(ops, store.Set(reloadTable, e.ID, encode(e)))
	}
	if next := p.reload.Next(); next > 1 {
		ops = append(ops, store.Set(reloadTable, reloadNext, encode(next)))
	}
	for _, ts := range sortedKeys(p.resumeAsks) {
		ops = append(ops, store.Set(askTable, askField(ts), encode(p.resumeAsks[ts])))
	}
	ops = append(ops, p.allQuestions()...)
	for _, agent := range sortedKeys(p.threads) {
		ops = append(ops, store.Set(threadTable, agent, encode(p.threads[agent])))
		ops = append(ops, p.threads[agent].allOps()...)
	}
	for _, m := range sortedKeys(p.timelines) {
		if p.timelines[m].Len() > 0 {
			ops = append(ops, p.timelines[m].AllOps()...)
		}
	}
	ops = append(ops, p.tasks.All()...)
	return append(ops, p.tape.AllOps()...)
}

// Restore loads the stored state. The error means that it cannot be read.
func (p *Pool) Restore(tables map[string]map[string][]byte, lists map[string][][]byte) error {
	p.initState()
	if data, ok := tables[aboutTable][aboutField]; ok {
		if err := decode(data, &p.about); err != nil {
			return fmt.Errorf("agents: %w", err)
		}
	}
	for _, restore := range []func(map[string]map[string][]byte) error{
		p.restoreTurns, p.restoreQueues, p.restorePolicies, p.restoreAsks, p.restoreQuestions, p.restoreTasks,
	} {
		if err := restore(tables); err != nil {
			return err
		}
	}
	if err := p.restoreThreads(tables[threadTable], lists); err != nil {
		return err
	}
	for _, name := range sortedKeys(lists) {
		if monitor, ok := strings.CutPrefix(name, timelinePrefix); ok {
			if err := p.timeline(wire.MonitorID(monitor)).Restore(lists[name]); err != nil {
				return err
			}
		}
	}
	return p.tape.Restore(lists)
}

func (p *Pool) restoreTurns(tables map[string]map[string][]byte) error {
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
		t.State, t.threads = restoredState(t.State, t.StopReason), p.threads
		p.turns[key] = t
		if t.Kind == wire.AgentMain || t.Kind == wire.AgentEphemeral {
			p.budget.TryAcquire(t.Monitor, key)
		}
	}
	for name, table := range tables {
		if key, ok := strings.CutPrefix(name, callPrefix); ok {
			if err := p.turns[key].restoreCalls(table); err != nil {
				return fmt.Errorf("tool calls of turn %s: %w", key, err)
			}
		}
		if key, ok := strings.CutPrefix(name, actionPrefix); ok {
			if err := p.turns[key].restoreActions(table); err != nil {
				return fmt.Errorf("actions of turn %s: %w", key, err)
			}
		}
	}
	return nil
}

func (t *turn) restoreCalls(table map[string][]byte) error {
	for field, data := range table {
		c := &call{}
		if err := decode(data, c); err != nil {
			return fmt.Errorf("call %s: %w", field, err)
		}
		if t == nil || strconv.Itoa(c.Number) != field {
			return fmt.Errorf("call %s: %w", field, errMisplaced)
		}
		t.calls = append(t.calls, c)
	}
	if t != nil {
		slices.SortFunc(t.calls, func(a, b *call) int { return cmp.Compare(a.Number, b.Number) })
	}
	return nil
}

func (t *turn) restoreActions(table map[string][]byte) error {
	for n := range len(table) {
		data, ok := table[strconv.Itoa(n)]
		if !ok || t == nil {
			return fmt.Errorf("action %d: %w", n, errMisplaced)
		}
		a, err := actionFormat().DecodeOwn(data)
		if err != nil {
			return fmt.Errorf("action %d: %w", n, err)
		}
		t.actions = append(t.actions, a)
		t.bytes += len(data)
	}
	return nil
}

func (p *Pool) restoreQueues(tables map[string]map[string][]byte) error {
	var all []*queuedMessage
	for field, data := range tables[queueTable] {
		w := &queuedMessage{}
		if err := decode(data, w); err != nil {
			return fmt.Errorf("queued message %s: %w", field, err)
		}
		if w.field() != field {
			return fmt.Errorf("queued message %s: %w", field, errMisplaced)
		}
		var said queuedContent
		if err := decode(tables[saidTable][field], &said); err != nil {
			return fmt.Errorf("what queued message %s says: %w", field, err)
		}
		w.Text, w.Images = said.Text, said.Images
		all = append(all, w)
		p.queuedBytes += w.size()
		p.lastArrival = max(p.lastArrival, w.Arrived)
	}
	slices.SortFunc(all, byArrival)
	for _, w := range all {
		q, key := p.mainQueue, string(w.Monitor)
		if w.Window != "" {
			q, key = p.windowQueue, w.Agent
		}
		q.Restore(key, append(q.All(key), w))
	}
	return nil
}

func (p *Pool) restorePolicies(tables map[string]map[string][]byte) error {
	if err := p.restoreGroups(tables); err != nil {
		return err
	}
	for name, table := range tables {
		monitor, ok := strings.CutPrefix(name, budgetPrefix)
		if !ok || len(table) == 0 {
			continue
		}
		var s policies.BudgetState
		if err := decode(table[budgetField], &s); err != nil {
			return fmt.Errorf("budget of %s: %w", monitor, err)
		}
		p.budget.Restore(wire.MonitorID(monitor), s)
	}
	var entries []policies.ReloadEntry
	next := 1
	for id, data := range tables[reloadTable] {
		if id == reloadNext {
			if err := decode(data, &next); err != nil {
				return fmt.Errorf("reload cache: %w", err)
			}
			continue
		}
		var e policies.ReloadEntry
		if err := decode(data, &e); err != nil {
			return fmt.Errorf("reload entry %s: %w", id, err)
		}
		if e.ID != id {
			return fmt.Errorf("reload entry %s: %w", id, errMisplaced)
		}
		entries = append(entries, e)
	}
	p.reload.Restore(entries, next)
	return nil
}

func (p *Pool) restoreTasks(tables map[string]map[string][]byte) (err error) {
	p.tasks, err = history.LoadTasks(tables[history.TaskTable])
	return err
}

func (p *Pool) restoreAsks(tables map[string]map[string][]byte) error {
	for field, data := range tables[askTable] {
		ts, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return fmt.Errorf("question %s: %w", field, errMisplaced)
		}
		a := &resumeAsk{}
		if err := decode(data, a); err != nil {
			return fmt.Errorf("question %s: %w", field, err)
		}
		p.resumeAsks[wire.Millis(ts)] = a
	}
	return nil
}

func (p *Pool) restoreThreads(table map[string][]byte, lists map[string][][]byte) error {
	for agent, data := range table {
		h := &thread{agent: agent}
		if err := decode(data, h); err != nil {
			return fmt.Errorf("conversation of %s: %w", agent, err)
		}
		if err := h.restore(lists[h.listName()]); err != nil {
			return err
		}
		p.threads[agent] = h
	}
	return nil
}
