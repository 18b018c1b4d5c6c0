package tools

import (
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// maxSeen bounds the files that are remembered. When there are more, all are forgotten.
const maxSeen = 10_000

// fileKey names a file in a conversation.
type fileKey struct {
	session wire.SessionID
	monitor wire.MonitorID
	window  wire.WindowID
	// agent is that of a conversation that lasts one turn.
	agent wire.AgentID
	path  string
}

func (u fileCall) fileKey(path string) fileKey {
	k := fileKey{session: u.Session, monitor: u.Monitor, window: u.Window, path: path}
	if u.Kind != wire.AgentMain && u.Kind != wire.AgentWindow {
		k.agent = u.Agent
	}
	return k
}

// seenFiles remembers which version of a file an agent has read or written, so that it does not
// overwrite a later change of a person or another agent. It is lost when the session moves to another
// replica; the agent then writes as if it had never read the file. The zero value is empty.
type seenFiles struct {
	mu sync.Mutex
	by map[fileKey]string
}

// etag returns the ETag of the last version that the agent has seen, or "".
func (s *seenFiles) etag(k fileKey) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[k]
}

func (s *seenFiles) record(k fileKey, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by) >= maxSeen {
		s.by = map[fileKey]string{}
	}
	s.by[k] = etag
}

func (s *seenFiles) forget(k fileKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, k)
}
