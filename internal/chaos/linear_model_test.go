package chaos_test

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/everdesk/everdesk/wire"
)

// mark is a message of the log and its position, as text; empty when nobody has
// said yet where it is.
type mark struct {
	id wire.MessageID
	at string
}

// want is an operation: to submit a message, or else to read what comes after one,
// or everything.
type want struct{ submit, after wire.MessageID }

// got is its answer.
type got struct {
	at    string // of a submit
	marks []mark // of a read
	lost  bool   // nobody knows whether the submit happened
}

// journal is what the log of a session should be: messages are added to its end,
// each once, and stay where they are.
func journal() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []mark(nil) },
		Step: func(state, input, output any) (bool, any) {
			log, in, out := state.([]mark), input.(want), output.(got) //nolint:forcetypeassert // our own
			if in.submit != "" {
				return added(log, in.submit, out)
			}
			return read(log, in.after, out.marks)
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]mark), b.([]mark)) }, //nolint:forcetypeassert // our own
		DescribeOperation: func(input, output any) string {
			in, out := input.(want), output.(got) //nolint:forcetypeassert // our own
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

// added is the log after a submit, and whether that may have had the answer.
func added(log []mark, id wire.MessageID, out got) (bool, []mark) {
	i := slices.IndexFunc(log, func(m mark) bool { return m.id == id })
	if i < 0 {
		log, i = append(slices.Clip(log), mark{id: id}), len(log)
	}
	if out.lost {
		return true, log
	}
	return placed(log, i, out.at)
}

// read is what is known of the log after a read, and whether that may have had the
// answer.
func read(log []mark, after wire.MessageID, seen []mark) (bool, []mark) {
	from := 0
	if after != "" {
		from = 1 + slices.IndexFunc(log, func(m mark) bool { return m.id == after })
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
			ok, log = placed(log, from+i, m.at)
		}
		if !ok {
			return false, log
		}
	}
	return true, log
}

// placed is the log with the position of a message, if it can be there: where it
// was before, and in order.
func placed(log []mark, i int, at string) (bool, []mark) {
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
