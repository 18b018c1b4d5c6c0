package session

import (
	"context"
	"slices"
)

// wait is somebody who waits for an answer from a tab.
type wait struct {
	// ctx is how long.
	ctx context.Context //nolint:containedctx // whoever waits has gone with it
	// to has room for the answer.
	to chan any
	// fits says whether something answers what was asked; nil means everything.
	fits func(answer any) bool
	// excuse is what a tab said that could not answer. It counts when no other
	// could.
	excuse any
}

func newWait(ctx context.Context) *wait { return &wait{ctx: ctx, to: make(chan any, 1)} }

// waits are those who wait, by the name of what was asked. The zero value has
// none. It belongs to the goroutine of the session.
type waits struct{ by map[string][]*wait }

// expect adds somebody who waits.
func (w *waits) expect(name string, one *wait) {
	if w.by == nil {
		w.by = map[string][]*wait{}
	}
	w.by[name] = append(w.by[name], one)
}

// forget ends expect, and reports whether the answer had not.
func (w *waits) forget(name string, one *wait) bool {
	i := slices.Index(w.by[name], one)
	if i < 0 {
		return false
	}
	w.keep(name, slices.Delete(w.by[name], i, i+1))
	return true
}

func (w *waits) keep(name string, rest []*wait) {
	if w.by[name] = rest; len(rest) == 0 {
		delete(w.by, name)
	}
}

// awaited reports whether somebody waits who has not gone.
func (w *waits) awaited(name string) bool {
	return slices.ContainsFunc(w.by[name], func(one *wait) bool { return one.ctx.Err() == nil })
}

// count is how many wait.
func (w *waits) count() int {
	n := 0
	for _, all := range w.by {
		n += len(all)
	}
	return n
}

// tell returns what hands an answer to those it fits, to be done after the
// commit; nil when there is nobody.
func (w *waits) tell(name string, answer any) func() {
	var told, rest []*wait
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
	w.keep(name, rest)
	return func() {
		for _, one := range told {
			one.to <- answer
		}
	}
}

// excuse notes an answer of a tab that could not do what was asked.
func (w *waits) excuse(name string, answer any) {
	for _, one := range w.by[name] {
		if one.fits == nil || one.fits(answer) {
			one.excuse = answer
		}
	}
}
