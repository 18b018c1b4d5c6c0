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

// fakeModel is a model that knows which requests are under way.
type fakeModel struct {
	url  string
	fake *fakemodel.Server
	// before, when there, is called with every request before it is answered.
	before func(context.Context)

	mu        sync.Mutex // guards the following
	asked     int
	calls     map[*modelCall]bool
	callEnded chan struct{} // closed and made anew when a request has ended
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

// openCalls are the requests that are under way; none if there is no model.
func (m *fakeModel) openCalls() []*modelCall {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.calls))
}

// requests is how often it was asked.
func (m *fakeModel) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// hang leaves the next request without an answer and returns what is closed when
// it has come; nil if there is no model, or it is not to.
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
