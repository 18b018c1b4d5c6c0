package chaos_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers/fakemodel"
)

// fakeModel is a model that knows its open requests.
type fakeModel struct {
	url  string
	fake *fakemodel.Server
	// before, if set, is called with every request before it is answered.
	before func(context.Context)

	mu        sync.Mutex // guards the following
	asked     int
	calls     map[*modelCall]bool
	callEnded chan struct{} // closed and replaced when a request has ended
}

// modelCall is one request.
type modelCall struct {
	over  chan struct{}
	ended time.Time // after over
}

func newFakeModel(t *testing.T) *fakeModel {
	t.Helper()
	m := &fakeModel{fake: fakemodel.New(), calls: map[*modelCall]bool{}, callEnded: make(chan struct{})}
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		m.fake.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return m
}

// ServeHTTP implements [http.Handler].
func (m *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := &modelCall{over: make(chan struct{})}
	m.mu.Lock()
	m.asked++
	m.calls[call] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.calls, call)
		call.ended = time.Now()
		close(call.over)
		close(m.callEnded)
		m.callEnded = make(chan struct{})
	}()
	if m.before != nil {
		m.before(r.Context())
	}
	m.fake.ServeHTTP(w, r)
}

// openCalls are the open requests; none if m is nil.
func (m *fakeModel) openCalls() []*modelCall {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.calls))
}

// requests is the number of requests so far.
func (m *fakeModel) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// hang leaves the next request without an answer and returns a channel that is closed when it has
// arrived; nil if m is nil or hanging is not wanted.
func (m *fakeModel) hang(wanted bool) <-chan struct{} {
	if m == nil || !wanted {
		return nil
	}
	asked := make(chan struct{})
	m.fake.Next(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	return asked
}
