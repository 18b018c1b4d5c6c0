package chaos_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// ensemble is a cluster of three hubs on a Redis master with two replicas.
type ensemble struct {
	redis    *redistest.Ensemble
	f        *hubtest.Cluster
	h        *hubtest.History
	sessions []wire.SessionID
	tabs     []*hubtest.Tab // three for each session in turn, one at each hub
}

// startEnsemble starts the cluster, with args for the hubs, and opens sessions.
func startEnsemble(t *testing.T, name string, sessions int, args ...string) *ensemble {
	t.Helper()
	redis := redistest.SentinelOver(t, 2)
	e := &ensemble{redis: redis, f: hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: args})}
	e.h = plan.NewHistory(t, name)
	for s := range sessions {
		session := e.f.CreateSession(t)
		e.sessions = append(e.sessions, session)
		for _, hub := range e.f.Hubs {
			cfg := hubtest.TabConfig{Name: fmt.Sprintf("%d-at-%s", s, hub.Name), URL: hub.URL, Session: session}
			e.tabs = append(e.tabs, e.h.OpenTab(t, cfg))
		}
	}
	return e
}

// outcomes returns how the messages of a session have ended: from the log or, where the log has a
// snapshot instead, from what tabs saw.
func (e *ensemble) outcomes(session wire.SessionID) map[wire.MessageID]wire.Outcome {
	out, logged := map[wire.MessageID]wire.Outcome{}, map[wire.MessageID]bool{}
	for _, entry := range e.h.Entries() {
		if entry.Session != session || entry.Event == nil || !entry.Event.IsEnd() {
			continue
		}
		id, inLog := entry.Event.Message, entry.Kind == hubtest.KindLog
		if inLog || !logged[id] {
			out[id], logged[id] = entry.Event.Outcome, logged[id] || inLog
		}
	}
	return out
}
