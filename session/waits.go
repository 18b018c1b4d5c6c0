package session

// waits are those who wait for an answer from a tab, by the name of what was
// asked. The zero value has none. It belongs to the goroutine of the session.
type waits struct{ by map[string]chan any }

// expect hands the answer to a channel that has room for it.
func (w *waits) expect(name string, answer chan any) {
	if w.by == nil {
		w.by = map[string]chan any{}
	}
	w.by[name] = answer
}

// forget ends expect.
func (w *waits) forget(name string) { delete(w.by, name) }

// awaited reports whether somebody waits.
func (w *waits) awaited(name string) bool { return w.by[name] != nil }

// tell returns what hands an answer over, to be done after the commit; nil when
// nobody waits.
func (w *waits) tell(name string, answer any) func() {
	to := w.by[name]
	if to == nil {
		return nil
	}
	delete(w.by, name)
	return func() { to <- answer }
}
