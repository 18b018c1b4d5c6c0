package session

import (
	"context"
	"slices"
)

// answerWait is somebody who waits for an answer from a tab.
type answerWait struct {
	// ctx is how long.
	ctx context.Context //nolint:containedctx // whoever waits has gone with it
	// answer has room for the answer.
	answer chan any
	// fits says whether something answers what was asked; nil means everything.
	fits func(answer any) bool
	// failure is what a tab said that could not answer. It counts when no other
	// could.
	failure any
}

func newWait(ctx context.Context) *answerWait {
	return &answerWait{ctx: ctx, answer: make(chan any, 1)}
}

// answerWaits are those who wait, by the name of what was asked. The zero value has
// none. It belongs to the goroutine of the session.
type answerWaits struct{ by map[string][]*answerWait }

// add adds somebody who waits.
func (w *answerWaits) add(name string, one *answerWait) {
	if w.by == nil {
		w.by = map[string][]*answerWait{}
	}
	w.by[name] = append(w.by[name], one)
}

// remove ends expect, and reports whether the answer had not.
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

// isAwaited reports whether somebody waits who has not gone.
func (w *answerWaits) isAwaited(name string) bool {
	return slices.ContainsFunc(w.by[name], func(one *answerWait) bool { return one.ctx.Err() == nil })
}

// count is how many wait.
func (w *answerWaits) count() int {
	n := 0
	for _, all := range w.by {
		n += len(all)
	}
	return n
}

// takeMatching returns what hands an answer to those it fits, to be done after the
// commit; nil when there is nobody.
func (w *answerWaits) takeMatching(name string, answer any) func() {
	var told, rest []*answerWait
	for _, one := range w.by[name] {
		if one.fits == nil || one.fits(answer) {
			told = append(told, one)
		} else {
			rest = append(rest, one)
		}
	}
	if len(told) == 0 {
		return nil
	}
	w.set(name, rest)
	return func() {
		for _, one := range told {
			one.answer <- answer
		}
	}
}

// recordFailure notes an answer of a tab that could not do what was asked.
func (w *answerWaits) recordFailure(name string, answer any) {
	for _, one := range w.by[name] {
		if one.fits == nil || one.fits(answer) {
			one.failure = answer
		}
	}
}
