package workflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The fields of [Table]. Todos and questions have one field each, which ends with their id.
const (
	numbersField = "numbers"
	planField    = "plan"
	requestField = "request"
	todoPrefix   = "todo:"
	askPrefix    = "ask:"
)

// schemaVersion is the version of the format of all records.
const schemaVersion = 1

var (
	errNewer     = errors.New("written by a newer version of the hub")
	errMisplaced = errors.New("the record does not belong to this field")
	errStray     = errors.New("the record belongs to no plan") // a todo or question without its plan or todo
)

func todoField(id wire.TodoID) string   { return todoPrefix + string(id) }
func askField(id wire.RequestID) string { return askPrefix + string(id) }

// envelope is the stored form of every record, with the version of its format.
type envelope[T any] struct {
	V  int `json:"v"`
	Is T   `json:"is"`
}

// setRecord returns the operation that stores a record.
func setRecord[T any](field string, v T) store.Op {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // escapes would take six bytes for one
	if err := encoder.Encode(envelope[T]{schemaVersion, v}); err != nil {
		panic(fmt.Sprintf("workflow: encode %T: %v", v, err)) // raw JSON was validated on receipt
	}
	return store.Set(Table, field, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// getRecord decodes a record. It refuses records of a newer format.
func getRecord[T any](table map[string][]byte, field string, into *T) error {
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(table[field], &version); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	if version.V > schemaVersion {
		return fmt.Errorf("%s: version %d: %w", field, version.V, errNewer)
	}
	v := envelope[T]{Is: *into}
	if err := json.Unmarshal(table[field], &v); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	*into = v.Is
	return nil
}

// changes returns the store operations for everything that changed since the last call, and marks
// it as stored.
func (s *state) changes() []store.Op {
	var ops []store.Op
	for _, field := range s.removed {
		ops = append(ops, store.Unset(Table, field))
	}
	s.removed = nil
	if s.numbersDirty {
		ops = append(ops, setRecord(numbersField, s.numbers))
	}
	if s.plan != nil && s.plan.requestDirty {
		ops = append(ops, setRecord(requestField, s.plan.request))
		s.plan.requestDirty = false
	}
	if s.plan != nil && s.planDirty {
		ops = append(ops, setRecord(planField, s.plan))
	}
	s.numbersDirty, s.planDirty = false, false
	for _, t := range s.todos {
		if t.dirty {
			ops = append(ops, setRecord(todoField(t.Draft.ID), t))
			t.dirty = false
		}
	}
	for _, a := range s.asks {
		if a.dirty {
			ops = append(ops, setRecord(askField(a.ID), a))
			a.dirty = false
		}
	}
	return ops
}

// clearPlan removes the plan and its todos. The counters stay.
func (s *state) clearPlan() {
	if s.plan == nil {
		return
	}
	s.removed = append(s.removed, planField, requestField)
	for _, t := range s.todos {
		s.removed = append(s.removed, todoField(t.Draft.ID))
	}
	s.plan, s.todos, s.reported = nil, nil, tally{}
}

// All returns operations that store the whole state, for a store that has lost writes.
func (s *state) All() []store.Op {
	var ops []store.Op
	if s.numbers != (numbers{}) {
		ops = append(ops, setRecord(numbersField, s.numbers))
	}
	if s.plan == nil {
		return ops
	}
	ops = append(ops, setRecord(requestField, s.plan.request), setRecord(planField, s.plan))
	for _, t := range s.todos {
		ops = append(ops, setRecord(todoField(t.Draft.ID), t))
	}
	for _, a := range s.asks {
		ops = append(ops, setRecord(askField(a.ID), a))
	}
	return ops
}

// Restore decodes the state from its table. It refuses records of an unknown newer format.
func (f *Flow) Restore(table map[string][]byte) error {
	*f.state = state{cfg: f.cfg, step: f.step, executor: f.executor}
	if _, ok := table[numbersField]; ok {
		if err := getRecord(table, numbersField, &f.numbers); err != nil {
			return err
		}
	}
	if _, ok := table[planField]; ok {
		f.plan = &plan{ModelJobs: map[wire.Layer]int{}}
		if err := getRecord(table, planField, f.plan); err != nil {
			return err
		}
		if err := getRecord(table, requestField, &f.plan.request); err != nil {
			return err
		}
	}
	for field := range table {
		var err error
		switch id, ok := strings.CutPrefix(field, todoPrefix); {
		case ok:
			err = f.restoreTodo(table, field, wire.TodoID(id))
		case strings.HasPrefix(field, askPrefix):
			err = f.restoreAsk(table, field)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(f.todos, func(a, b *todo) int { return cmp.Compare(a.Place, b.Place) })
	slices.SortFunc(f.asks, func(a, b *ask) int { return cmp.Compare(a.number(), b.number()) })
	for _, a := range f.asks {
		if a.Todo != "" && f.todos.find(a.Todo) == nil {
			return fmt.Errorf("%s: %w", askField(a.ID), errStray)
		}
	}
	f.reported = f.todos.count()
	return nil
}

func (s *state) restoreTodo(table map[string][]byte, field string, id wire.TodoID) error {
	t := &todo{}
	if err := getRecord(table, field, t); err != nil {
		return err
	}
	switch {
	case t.Draft.ID != id:
		return fmt.Errorf("%s: %w", field, errMisplaced)
	case s.plan == nil:
		return fmt.Errorf("%s: %w", field, errStray)
	}
	s.todos = append(s.todos, t)
	return nil
}

func (s *state) restoreAsk(table map[string][]byte, field string) error {
	a := &ask{}
	if err := getRecord(table, field, a); err != nil {
		return err
	}
	switch {
	case askField(a.ID) != field || a.Kind == askInput && a.Input == nil || a.Kind == askClarification && a.Clarification == nil:
		return fmt.Errorf("%s: %w", field, errMisplaced)
	case s.plan == nil:
		return fmt.Errorf("%s: %w", field, errStray)
	}
	s.asks = append(s.asks, a)
	return nil
}

// number returns the number in the id of a question.
func (a *ask) number() uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(string(a.ID), requestPrefix), 10, 64)
	return n
}

// Recover is called once by a new owner, in a step, before the jobs continue. alive reports
// whether a job still exists. The progress of a todo whose job is lost is unknown, so the
// user is asked before it runs again.
func (f *Flow) Recover(alive func(job string) bool) {
	if !f.Active() {
		return
	}
	defer f.finishCall()
	if t := f.plan.ModelTask; t != nil && t.Job != "" && !alive(t.Job) {
		t.Job = ""
		f.planDirty = true
	}
	for _, t := range slices.Clone(f.todos) {
		if t.Job != "" && !alive(t.Job) {
			f.execution.handleResult(t, JobResult{Job: t.Job, Unsure: unsureWork})
		}
	}
	f.processDue()
}
