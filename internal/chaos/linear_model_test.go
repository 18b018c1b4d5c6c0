package chaos_test

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/everdesk/everdesk/wire"
)

// logEntry is a message of the log and its position as text; empty while no answer has named it.
type logEntry struct {
	id wire.MessageID
	at string
}

// operation is a client's operation: to submit a message, or to read what comes after one, or
// everything.
type operation struct{ submit, after wire.MessageID }

// answer is the answer to an operation.
type answer struct {
	at    string     // of a submit
	marks []logEntry // of a read
	lost  bool       // it is unknown whether the submit happened
}

// logModel is the sequential specification of a session's log: messages are appended, each once,
// and stay where they are.
func logModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []logEntry(nil) },
		Step: func(state, input, output any) (bool, any) {
			log, in, out := state.([]logEntry), input.(operation), output.(answer) //nolint:forcetypeassert // our own
			if in.submit != "" {
				return applySubmit(log, in.submit, out)
			}
			return applyRead(log, in.after, out.marks)
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]logEntry), b.([]logEntry)) }, //nolint:forcetypeassert // our own
		DescribeOperation: func(input, output any) string {
			in, out := input.(operation), output.(answer) //nolint:forcetypeassert // our own
			switch {
			case in.submit != "" && out.lost:
				return fmt.Sprintf("submit %s: ?", in.submit)
			case in.submit != "":
				return fmt.Sprintf("submit %s: %s", in.submit, out.at)
			}
			return fmt.Sprintf("read after %q: %v", in.after, out.marks)
		},
		DescribeState: func(state any) string { return fmt.Sprint(state) },
	}
}

// applySubmit returns the log after a submit, and whether the answer is possible.
func applySubmit(log []logEntry, id wire.MessageID, out answer) (bool, []logEntry) {
	i := slices.IndexFunc(log, func(m logEntry) bool { return m.id == id })
	if i < 0 {
		log, i = append(slices.Clip(log), logEntry{id: id}), len(log)
	}
	if out.lost {
		return true, log
	}
	return setPosition(log, i, out.at)
}

// applyRead returns the log after a read, and whether the answer is possible.
func applyRead(log []logEntry, after wire.MessageID, seen []logEntry) (bool, []logEntry) {
	from := 0
	if after != "" {
		from = 1 + slices.IndexFunc(log, func(m logEntry) bool { return m.id == after })
		if from == 0 {
			return false, log
		}
	}
	if len(seen) != len(log)-from {
		return false, log
	}
	for i, m := range seen {
		ok := m.id == log[from+i].id
		if ok {
			ok, log = setPosition(log, from+i, m.at)
		}
		if !ok {
			return false, log
		}
	}
	return true, log
}

// setPosition returns the log with the position of a message, if that is possible: equal to a known
// one, and in order.
func setPosition(log []logEntry, i int, at string) (bool, []logEntry) {
	if log[i].at != "" {
		return log[i].at == at, log
	}
	p, err := wire.ParsePosition(at)
	if err != nil {
		return false, log
	}
	for j, m := range log {
		if other, err := wire.ParsePosition(m.at); err == nil && (j < i) != (other.Compare(p) < 0) {
			return false, log
		}
	}
	log = slices.Clone(log)
	log[i].at = at
	return true, log
}
