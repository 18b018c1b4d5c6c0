package sessionfile

import (
	"fmt"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// The name and version of the format. [Read] accepts this version and older ones.
const (
	Format  = "everdesk-session"
	Version = 1
)

// Names of the parts.
const (
	metadataName = "metadata.json"
	messagesName = "messages.jsonl"
	desktopName  = "desktop.json"
	rowsFolder   = "ui/"
	apiFolder    = "api/"
	filesFolder  = "storage/"
	// checkpointsName has the checkpoints of the files, if they were asked for.
	checkpointsName = "checkpoints.pack"
	// workspacesFolder has those of workspaces, by the name of the workspace.
	workspacesFolder = "workspaces/"
	packEnding       = ".pack"
	linesEnding      = ".jsonl"
	// foreignEnding marks a thread in the format of another program.
	foreignEnding = ".json"
)

// Metadata describes a session file.
type Metadata struct {
	Format    string         `json:"format"`
	Version   int            `json:"version"`
	SessionID wire.SessionID `json:"sessionId"`
	Title     string         `json:"title,omitempty"`
	Provider  string         `json:"provider,omitempty"`
	// CreatedAt and LastActivity are those of the session.
	CreatedAt    time.Time `json:"createdAt"`
	LastActivity time.Time `json:"lastActivity"`
	ExportedAt   time.Time `json:"exportedAt"`
	// Position is the position of the session's log at the export.
	Position wire.Position `json:"position"`
	// ThreadIDs maps agents to the ids that backends gave their conversations.
	ThreadIDs map[string]string `json:"threadIds"`
	// Threads describes the threads of persistent agents.
	Threads []ThreadInfo `json:"threads"`
	// Parts describes all other parts of the file.
	Parts map[string]Part `json:"parts"`
}

// ThreadInfo describes a thread without its messages.
type ThreadInfo struct {
	Agent    string         `json:"agent"`
	Provider string         `json:"provider,omitempty"`
	Monitor  wire.MonitorID `json:"monitorId"`
	// Windows are the windows that share the agent; empty for a main agent.
	Windows []wire.WindowID `json:"windows,omitempty"`
	// Part is the file with the messages: one a line or, if the name ends in .json, in the
	// format of other programs.
	Part string `json:"part"`
}

// Part is the size and checksum of a part.
type Part struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Log is an imported session.
type Log struct {
	Meta    Metadata
	Desktop wire.SessionState
	// Rows holds the rows of each monitor, oldest first.
	Rows    map[wire.MonitorID][]wire.UIRow
	Threads []history.Thread
	// Files are the files of the session's storage.
	Files []File
	// Checkpoints are those of the files; nil if the file has none. The reader does not verify them; an import does.
	Checkpoints *File
	// Workspaces are the checkpoints of workspaces that Checkpoints name, with the names of the workspaces. They are
	// not verified either.
	Workspaces []File
}

// RefusedError says why a file is not accepted.
type RefusedError struct {
	// Part is the part of the file, or empty for the whole file.
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
