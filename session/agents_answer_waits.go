package session

import (
	"context"
	"slices"
	"strings"
)

// answerWait is a call of an agent that waits for an answer from a tab.
type answerWait struct {
	// ctx ends the wait.
	ctx context.Context //nolint:containedctx // it ends the wait, which others check
	// answer receives the answer. It is buffered.
	answer chan any
	// fits reports whether an answer belongs to the request; nil accepts every answer.
	fits func(answer any) bool
	// failure is the last answer of a tab that could not do what was asked. It counts if no other
	// tab answers.
	failure any
}

func newWait(ctx context.Context) *answerWait {
	return &answerWait{ctx: ctx, answer: make(chan any, 1)}
}

// answerWaits are the pending waits by the key of the question. The zero value is empty. It belongs
// to the goroutine of the session.
type answerWaits struct{ by map[string][]*answerWait }

func (w *answerWaits) add(name string, one *answerWait) {
	if w.by == nil {
		w.by = map[string][]*answerWait{}
	}
	w.by[name] = append(w.by[name], one)
}

// remove removes a wait and reports whether it was still pending.
func (w *answerWaits) remove(name string, one *answerWait) bool {
	i := slices.Index(w.by[name], one)
	if i < 0 {
		return false
	}
	w.set(name, slices.Delete(w.by[name], i, i+1))
	return true
}

func (w *answerWaits) set(name string, rest []*answerWait) {
	if w.by[name] = rest; len(rest) == 0 {
		delete(w.by, name)
	}
}

// isAwaited reports whether a wait for key name is pending whose context has not ended.
func (w *answerWaits) isAwaited(name string) bool {
	return slices.ContainsFunc(w.by[name], func(one *answerWait) bool { return one.ctx.Err() == nil })
}

// count is the number of pending waits of agents. Code in notebooks waits, too, but no turn waits with it.
func (w *answerWaits) count() int {
	n := 0
	for name, all := range w.by {
		if !strings.HasPrefix(name, promptName(inputPrefix)) {
			n += len(all)
		}
	}
	return n
}

// takeMatching removes the waits that an answer fits and returns a function that delivers the
// answer, to be called after the commit; nil if there are none.
func (w *answerWaits) takeMatching(name string, answer any) func() {
	var matching, rest []*answerWait
	for _, one := range w.by[name] {
		if one.fits == nil || one.fits(answer) {
			matching = append(matching, one)
		} else {
			rest = append(rest, one)
		}
	}
	if len(matching) == 0 {
		return nil
	}
	w.set(name, rest)
	return func() {
		for _, one := range matching {
			one.answer <- answer
		}
	}
}

// recordFailure records the answer of a tab that could not do what was asked.
func (w *answerWaits) recordFailure(name string, answer any) {
	for _, one := range w.by[name] {
		if one.fits == nil || one.fits(answer) {
			one.failure = answer
		}
	}
}
