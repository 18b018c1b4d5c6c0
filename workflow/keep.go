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

// The fields of [Table].
const (
	numbersField  = "numbers"
	planField     = "plan"
	requestField  = "request"
	todoPrefix    = "todo:"
	askPrefix     = "ask:"
	schemaVersion = 1
)

var (
	errNewer     = errors.New("it is of a newer hub")
	errMisplaced = errors.New("it is of something else")
	errStray     = errors.New("there is no plan that it is part of")
)

func todoField(id wire.TodoID) string   { return todoPrefix + string(id) }
func askField(id wire.RequestID) string { return askPrefix + string(id) }

// envelope is the kept form of everything: what it is of, and which form it has.
type envelope[T any] struct {
	V  int `json:"v"`
	Is T   `json:"is"`
}

func set[T any](field string, v T) store.Op {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false) // which makes six bytes of one
	if err := to.Encode(envelope[T]{schemaVersion, v}); err != nil {
		panic(fmt.Sprintf("workflow: %T has no kept form: %v", v, err)) // free JSON was checked when it came
	}
	return store.Set(Table, field, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func get[T any](table map[string][]byte, field string, into *T) error {
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

// changes is what is to be kept otherwise than it is.
func (f *Flow) changes() []store.Op {
	var ops []store.Op
	for _, field := range f.gone {
		ops = append(ops, store.Unset(Table, field))
	}
	f.gone = nil
	if f.recount {
		ops = append(ops, set(numbersField, f.numbers))
	}
	if f.plan != nil && f.plan.spoken {
		ops = append(ops, set(requestField, f.plan.request))
		f.plan.spoken = false
	}
	if f.plan != nil && f.reworded {
		ops = append(ops, set(planField, f.plan))
	}
	f.recount, f.reworded = false, false
	for _, t := range f.todos {
		if t.touched {
			ops = append(ops, set(todoField(t.Draft.ID), t))
			t.touched = false
		}
	}
	for _, a := range f.asks {
		if a.touched {
			ops = append(ops, set(askField(a.ID), a))
			a.touched = false
		}
	}
	return ops
}

// forget takes away everything that is known of the plan, but for what there was.
func (f *Flow) forget() {
	if f.plan == nil {
		return
	}
	f.gone = append(f.gone, planField, requestField)
	for _, t := range f.todos {
		f.gone = append(f.gone, todoField(t.Draft.ID))
	}
	f.plan, f.todos, f.told = nil, nil, tally{}
}

// All is everything that is kept, for a store that forgot.
func (f *Flow) All() []store.Op {
	var ops []store.Op
	if f.numbers != (numbers{}) {
		ops = append(ops, set(numbersField, f.numbers))
	}
	if f.plan == nil {
		return ops
	}
	ops = append(ops, set(requestField, f.plan.request), set(planField, f.plan))
	for _, t := range f.todos {
		ops = append(ops, set(todoField(t.Draft.ID), t))
	}
	for _, a := range f.asks {
		ops = append(ops, set(askField(a.ID), a))
	}
	return ops
}

// Restore reads what was kept. What a newer hub wrote in a form that is not known
// here is refused.
func (f *Flow) Restore(table map[string][]byte) error {
	*f = Flow{cfg: f.cfg, stage: f.stage, hands: f.hands}
	if _, ok := table[numbersField]; ok {
		if err := get(table, numbersField, &f.numbers); err != nil {
			return err
		}
	}
	if _, ok := table[planField]; ok {
		f.plan = &plan{Thoughts: map[wire.Layer]int{}}
		if err := get(table, planField, f.plan); err != nil {
			return err
		}
		if err := get(table, requestField, &f.plan.request); err != nil {
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
		if a.Todo != "" && find(f.todos, a.Todo) == nil {
			return fmt.Errorf("%s: %w", askField(a.ID), errStray)
		}
	}
	f.told = f.count()
	return nil
}

func (f *Flow) restoreTodo(table map[string][]byte, field string, id wire.TodoID) error {
	t := &todo{}
	if err := get(table, field, t); err != nil {
		return err
	}
	switch {
	case t.Draft.ID != id:
		return fmt.Errorf("%s: %w", field, errMisplaced)
	case f.plan == nil:
		return fmt.Errorf("%s: %w", field, errStray)
	}
	f.todos = append(f.todos, t)
	return nil
}

func (f *Flow) restoreAsk(table map[string][]byte, field string) error {
	a := &ask{}
	if err := get(table, field, a); err != nil {
		return err
	}
	switch {
	case askField(a.ID) != field || a.Kind == askInput && a.Input == nil || a.Kind == askClarification && a.Clarification == nil:
		return fmt.Errorf("%s: %w", field, errMisplaced)
	case f.plan == nil:
		return fmt.Errorf("%s: %w", field, errStray)
	}
	f.asks = append(f.asks, a)
	return nil
}

// number is which of all questions it is.
func (a *ask) number() uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(string(a.ID), requestPrefix), 10, 64)
	return n
}

// Recover is called once by a new owner, in a step, before the jobs go on. alive
// says whether somebody works on a job. Nobody knows how far that came which was
// begun and on which nobody works: it is not begun again unasked.
func (f *Flow) Recover(alive func(job string) bool) {
	if !f.Active() {
		return
	}
	defer f.done()
	if t := f.plan.Think; t != nil && t.Job != "" && !alive(t.Job) {
		t.Job = ""
		f.reworded = true
	}
	for _, t := range slices.Clone(f.todos) {
		if t.Job != "" && !alive(t.Job) {
			f.worked(t, Worked{Job: t.Job, Unsure: unsureWork})
		}
	}
	f.lapse()
}
