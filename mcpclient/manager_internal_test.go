package mcpclient

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/store"
)

// The limits count for servers that start again, too.
func TestLimitsCountForKnownServers(t *testing.T) {
	t.Parallel()
	for _, state := range []State{Stopped, Failed} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			m := NewManager(Config{})
			t.Cleanup(m.Close)
			at := Place{User: "ann"}
			sourceOf := func(i int) source {
				return source{Server{Name: fmt.Sprint("server-", i), Type: Stdio, Command: "none", Scope: ScopeUser}, false}
			}
			instanceOf := func(i int) *instance {
				t.Helper()
				s, release, err := m.claim(sourceOf(i), at)
				if err != nil {
					t.Fatal(err)
				}
				release()
				return s
			}
			known := instanceOf(0)
			known.state = state
			others := map[*instance]*call{}
			for i := range maxOfUser {
				s, c := instanceOf(i+1), &call{}
				s.state, s.calls[c], others[s] = Ready, true, c
			}
			if _, _, err := m.claim(sourceOf(0), at); err == nil {
				t.Errorf("with %d servers that have calls got no error, want one", maxOfUser)
			}
			for s, c := range others {
				s.release(c)
			}
			if got := instanceOf(0); got != known {
				t.Errorf("got the instance %p, want the known %p", got, known)
			}
			running := 0
			for s := range others {
				if s.state == Ready {
					running++
				}
			}
			if want := maxOfUser - 1; running != want {
				t.Errorf("beside the known server %d run, want %d", running, want)
			}
		})
	}
}

// A known server takes no place from the logs of others.
func TestKnownServersEndNoStoppedOnes(t *testing.T) {
	t.Parallel()
	m := NewManager(Config{})
	t.Cleanup(m.Close)
	for range 2 {
		for i := range maxStopped {
			s := source{Server{Name: fmt.Sprint("server-", i), Type: Stdio, Command: "none"}, false}
			_, release, err := m.claim(s, Place{})
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		if got := len(m.instances); got != maxStopped {
			t.Fatalf("got %d instances, want %d", got, maxStopped)
		}
	}
}

// slowDocuments has one document. Its first read returns what was stored when it began, after release is closed.
type slowDocuments struct {
	begun, release chan struct{}

	mu     sync.Mutex // guards the following
	reads  int
	stored store.Document
}

func (d *slowDocuments) Get(context.Context, string, string) (store.Document, error) {
	d.mu.Lock()
	stored := d.stored
	d.reads++
	first := d.reads == 1
	d.mu.Unlock()
	if first {
		close(d.begun)
		<-d.release
	}
	if stored.Version == 0 {
		return stored, store.ErrNotFound
	}
	return stored, nil
}

func (d *slowDocuments) Put(_ context.Context, next store.Document) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next.Version++
	d.stored = next
	return next.Version, nil
}

// A read that began before a change does not hide the change from later ones.
func TestSlowReadDoesNotHideAChange(t *testing.T) {
	t.Parallel()
	docs := &slowDocuments{begun: make(chan struct{}), release: make(chan struct{})}
	var m *Manager
	m = NewManager(Config{Store: NewStore(docs, true, nil, func(_ context.Context, user string) { m.Invalidate(user) })})
	t.Cleanup(m.Close)
	slow := make(chan error, 1)
	go func() {
		_, err := m.setOf(t.Context(), "ann")
		slow <- err
	}()
	<-docs.begun
	if _, err := m.Store().Put(t.Context(), "ann", []Server{{Name: "new", Type: Stdio, Command: "none"}}, nil); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		set, err := m.setOf(t.Context(), "ann")
		if err != nil || len(set.Servers) != 1 {
			t.Errorf("%s: got %+v, %v, want the new server", when, set, err)
		}
	}
	check("before the slow read ends")
	s, release, err := m.claim(source{m.cached["ann"].set.Servers[0], true}, Place{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	release()
	close(docs.release)
	if err := <-slow; err != nil {
		t.Fatal(err)
	}
	check("after the slow read")
	if s.closed {
		t.Error("the slow read has ended the instance of the new server, want it left")
	}
}

// withRunning returns a manager and a user who has one server more than may run. Calls of all but the last of them run,
// although none has started its server yet.
func withRunning(t *testing.T) (m *Manager, at Place, last string) {
	t.Helper()
	at = Place{User: "ann"}
	var all []Server
	for i := range maxOfUser + 1 {
		last = fmt.Sprint("server-", i)
		all = append(all, Server{Name: last, Type: Stdio, Command: "none", Scope: ScopeUser})
	}
	m = NewManager(Config{Operator: all})
	var calls sync.WaitGroup
	release := make(chan struct{})
	t.Cleanup(func() {
		close(release)
		calls.Wait()
		m.Close()
	})
	begun := make(chan error)
	for _, s := range all[:maxOfUser] {
		calls.Go(func() {
			err := m.withInstance(t.Context(), at, s.Name, func(source, *instance) error {
				begun <- nil
				<-release
				return nil
			})
			if err != nil {
				begun <- err
			}
		})
	}
	for range maxOfUser {
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	return m, at, last
}

// First calls of several servers at the same moment do not exceed the limit.
func TestLimitsCountForParallelStarts(t *testing.T) {
	t.Parallel()
	m, at, last := withRunning(t)
	if err := m.withInstance(t.Context(), at, last, func(source, *instance) error { return nil }); err == nil {
		t.Errorf("a call beside %d that start their servers: got no error, want one", maxOfUser)
	}
}

// What is known of a server is there while too many others run.
func TestKnownViewsNeedNoServer(t *testing.T) {
	t.Parallel()
	m, at, last := withRunning(t)
	s, err := m.sourceOf(t.Context(), at.User, last)
	if err != nil {
		t.Fatal(err)
	}
	const uri = "ui://map/view.html"
	m.views.set(viewKey(s, at.User, uri), View{HTML: "map"})
	m.setList(listKey(s, at.User), []Tool{{Name: "show"}})
	if v, err := m.View(t.Context(), at, last, uri); err != nil || v.HTML != "map" {
		t.Errorf("View: got %q, %v, want the one that was read before", v.HTML, err)
	}
	if tool, ok := m.ViewTool(t.Context(), at, last, "show"); !ok || tool.Name != "show" {
		t.Errorf("ViewTool: got %+v, %v, want the one that was listed before", tool, ok)
	}
}
