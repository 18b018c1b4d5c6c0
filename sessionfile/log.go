package sessionfile

import (
	"fmt"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// The format, and its version. A reader takes this version and older ones.
const (
	Format  = "everdesk-session"
	Version = 1
)

// The parts of a log.
const (
	metadataName = "metadata.json"
	messagesName = "messages.jsonl"
	desktopName  = "desktop.json"
	rowsFolder   = "ui/"
	apiFolder    = "api/"
	filesFolder  = "storage/"
	linesEnding  = ".jsonl"
	// foreignEnding is that of a conversation that another program has kept.
	foreignEnding = ".json"
)

// Metadata says what a log is.
type Metadata struct {
	Format    string         `json:"format"`
	Version   int            `json:"version"`
	SessionID wire.SessionID `json:"sessionId"`
	Title     string         `json:"title,omitempty"`
	Provider  string         `json:"provider,omitempty"`
	// CreatedAt and LastActivity are of the session.
	CreatedAt    time.Time `json:"createdAt"`
	LastActivity time.Time `json:"lastActivity"`
	ExportedAt   time.Time `json:"exportedAt"`
	// Position is how far the log of the session was.
	Position wire.Position `json:"position"`
	// ThreadIDs are the names that backends have for conversations, by agent.
	ThreadIDs map[string]string `json:"threadIds"`
	// Threads are the conversations of agents that last.
	Threads []ThreadInfo `json:"threads"`
	// Parts are all other files of the log.
	Parts map[string]Part `json:"parts"`
}

// ThreadInfo is what is known of a conversation beside its messages.
type ThreadInfo struct {
	Agent    string         `json:"agent"`
	Provider string         `json:"provider,omitempty"`
	Monitor  wire.MonitorID `json:"monitorId"`
	// Windows are those that share the agent; none for a main agent.
	Windows []wire.WindowID `json:"windows,omitempty"`
	// Part is where its messages are: one a line, or, in a file whose name ends in
	// .json, as other programs keep them.
	Part string `json:"part"`
}

// Part is what a file of a log has to be.
type Part struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Log is a session that was read.
type Log struct {
	Meta    Metadata
	Desktop wire.SessionState
	// Rows are those of each monitor, the oldest first.
	Rows    map[wire.MonitorID][]wire.UIRow
	Threads []history.Thread
	// Files are in the storage of the session.
	Files []File
}

// RefusedError is why a file is not taken.
type RefusedError struct {
	// Part is the file in the log, or empty for all of it.
	Part   string
	Reason string
}

func (r *RefusedError) Error() string {
	if r.Part == "" {
		return "the session log is refused: " + r.Reason
	}
	return fmt.Sprintf("the session log is refused: %s: %s", r.Part, r.Reason)
}

func refuse(part, format string, args ...any) error {
	return &RefusedError{Part: part, Reason: fmt.Sprintf(format, args...)}
}
