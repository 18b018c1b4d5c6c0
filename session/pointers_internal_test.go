package session

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Pointers go to other replicas only if several users are present and one of their tabs is not at this replica.
func TestNeedsRelay(t *testing.T) {
	t.Parallel()
	const n = 32 // the bound of the list
	tabs := func(users ...string) []wire.Connection {
		var all []wire.Connection
		for i, u := range users {
			all = append(all, wire.Connection{ConnectionID: wire.ConnectionID(fmt.Sprint("conn-", i)), User: u})
		}
		return all
	}
	many := make([]string, n)
	for name, tt := range map[string]struct {
		all   []wire.Connection
		total int
		local []wire.Connection
		want  bool
	}{
		"no tab":                        {nil, 0, nil, false},
		"one user at two replicas":      {tabs("ada", "ada"), 2, tabs("ada"), false},
		"two users at this replica":     {tabs("ada", "vic"), 2, tabs("ada", "vic"), false},
		"two users at two replicas":     {tabs("ada", "vic"), 2, tabs("ada"), true},
		"two users at another replica":  {tabs("ada", "vic"), 2, nil, false},
		"a tab here that is not listed": {tabs("ada", "vic"), 2, tabs("ada", "vic", "vic"), false},
		"more than are listed":          {tabs(many...), n + 1, tabs(many...), true},
	} {
		if got := needsRelay(wire.Presence{Connections: tt.all, Total: tt.total}, tt.local); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// While positions are handled, only the newest of each tab waits, and close drops it.
func TestLatestPointers(t *testing.T) {
	t.Parallel()
	begun, handled := make(chan []wire.PointerMoved), make(chan struct{})
	l := &latestPointers{handle: func(pointers []wire.PointerMoved) {
		begun <- pointers
		<-handled
	}}
	at := func(id wire.ConnectionID, x int) wire.PointerMoved { return wire.PointerMoved{ConnectionID: id, X: x} }
	l.add(at("a", 1))
	if got := <-begun; len(got) != 1 || got[0] != at("a", 1) {
		t.Errorf("first: got %+v, want a at 1", got)
	}
	for x := range 100 {
		l.add(at("a", x), at("b", 100+x))
	}
	handled <- struct{}{}
	got := map[wire.ConnectionID]int{}
	for _, p := range <-begun {
		got[p.ConnectionID] = p.X
	}
	if len(got) != 2 || got["a"] != 99 || got["b"] != 199 {
		t.Errorf("then: got %v, want the newest position of each tab: a at 99, b at 199", got)
	}
	l.add(at("a", 3))
	closed := make(chan struct{})
	go func() {
		l.close()
		close(closed)
	}()
	for waiting := true; waiting; {
		select {
		case handled <- struct{}{}:
		case <-begun:
		case <-closed:
			waiting = false
		}
	}
	l.add(at("a", 4))
	if l.active || len(l.waiting) > 0 {
		t.Errorf("after close: got active %v and %d waiting, want neither", l.active, len(l.waiting))
	}
}
