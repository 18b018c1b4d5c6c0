package rest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Checkpoints lists and compares the checkpoints of sessions. Sessions save and restore them.
type Checkpoints interface {
	// Available returns why there are no checkpoints, or nil.
	Available() error
	// List returns the checkpoints of a session, the oldest first.
	List(ctx context.Context, id wire.SessionID) ([]checkpoints.Checkpoint, error)
	// Compare lists the files that differ between two checkpoints, or between one and the present
	// state. An unknown checkpoint is an error.
	Compare(ctx context.Context, id wire.SessionID, from, to string) ([]checkpoints.Change, error)
	// Patch returns the difference of one file in the format of git, or of all files if path is empty,
	// at most limit bytes, and whether that is all.
	Patch(ctx context.Context, id wire.SessionID, from, to, path string, limit int) (text string, whole bool, err error)
	// Windows returns the windows that a checkpoint holds, as the session encoded them, or nothing.
	Windows(ctx context.Context, id wire.SessionID, hash string) ([]byte, error)
	// File returns one of the session's own files as a checkpoint holds it. A file of more than limit bytes is an error.
	File(ctx context.Context, id wire.SessionID, hash, path string, limit int64) (checkpoints.File, error)
}

// checkpointHandlers serve the checkpoints of sessions.
type checkpointHandlers struct {
	requests    *sessionRequests
	checkpoints Checkpoints
	frameBytes  int64
}

const (
	// maxPatch bounds the text of a difference, in bytes.
	maxPatch = 1 << 20
	// maxCheckpointFile bounds a file of a checkpoint that is sent, in bytes.
	maxCheckpointFile = 8 << 20
)

type checkpointEntry struct {
	Hash      string         `json:"hash"`
	Number    int            `json:"number" wire:"min=1" doc:"Counts the checkpoints of the session."`
	SavedAt   string         `json:"savedAt" doc:"RFC 3339."`
	Reason    string         `json:"reason" doc:"message, tool or restore."`
	TS        wire.Millis    `json:"ts" doc:"The row of the conversation from which on it holds."`
	MonitorID wire.MonitorID `json:"monitorId,omitempty"`
	Files     string         `json:"files" doc:"The hash of all files. Checkpoints with the same files have the same one."`
}

type checkpointList struct {
	Available   bool              `json:"available"`
	Reason      string            `json:"reason,omitempty" doc:"Why there are none on this hub."`
	Checkpoints []checkpointEntry `json:"checkpoints" doc:"Oldest first."`
}

type changedFile struct {
	Path    string `json:"path"`
	Kind    string `json:"kind" doc:"added, changed, deleted, or type for a file that became a link or the reverse."`
	Mode    bool   `json:"mode,omitempty" doc:"It became executable, or is not any more."`
	Added   int    `json:"added" wire:"min=0" doc:"Lines."`
	Removed int    `json:"removed" wire:"min=0" doc:"Lines."`
	Binary  bool   `json:"binary,omitempty"`
}

type checkpointDiff struct {
	Files []changedFile `json:"files"`
	Patch string        `json:"patch,omitempty" doc:"The difference of the file path, in the format of git."`
	Cut   bool          `json:"cut,omitempty" doc:"The patch is longer than 1 MiB; the rest is missing."`
}

type checkpointWindows struct {
	Windows []wire.WindowState `json:"windows" doc:"By monitor, from the back to the front."`
}

type checkpointSwitch struct {
	Enabled bool `json:"enabled"`
}

var (
	checkpointListForm     = httpio.FormOf[checkpointList]()
	checkpointDiffForm     = httpio.FormOf[checkpointDiff]()
	checkpointWindowsForm  = httpio.FormOf[checkpointWindows]()
	checkpointSwitchForm   = httpio.FormOf[checkpointSwitch]()
	restoreCheckpointForm  = httpio.FormOf[wire.RestoreCheckpoint]()
	checkpointRestoredForm = httpio.FormOf[wire.CheckpointRestored]()
)

func (h *checkpointHandlers) routes() []openapi.Route {
	const tag = "checkpoints"
	const path = "/api/sessions/:session/checkpoints"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: path, Guard: openapi.GuardIdentity, Handler: h.list, Tag: tag,
			Summary: "List the checkpoints of the session's files",
			Answers: openapi.Success(http.StatusOK, "The checkpoints.", openapi.JSONBody(checkpointListForm)),
		},
		{
			Method: http.MethodPut, Path: path, Guard: openapi.GuardIdentity, Handler: h.set, Tag: tag,
			Summary: "Switch the checkpoints of a session on or off", Body: openapi.JSONBody(checkpointSwitchForm),
			Answers: openapi.Success(http.StatusAccepted, "It is delivered to the session.", nil),
		},
		{
			Method: http.MethodGet, Path: path + "/diff", Guard: openapi.GuardIdentity, Handler: h.diff, Tag: tag,
			Summary: "Compare two checkpoints, or a checkpoint with the present files",
			Query: []openapi.Param{
				{Name: "from", Doc: "A checkpoint, or the first 7 or more characters of it."},
				{Name: "to", Doc: "Another checkpoint; the present files when absent."},
				{Name: "path", Doc: "A file whose difference is included as text."},
			},
			Answers: openapi.Success(http.StatusOK, "The files that differ.", openapi.JSONBody(checkpointDiffForm)),
		},
		{
			Method: http.MethodGet, Path: path + "/:checkpoint/windows", Guard: openapi.GuardIdentity, Handler: h.windows, Tag: tag,
			Summary: "List the windows that a checkpoint holds",
			Answers: openapi.Success(http.StatusOK, "The windows.", openapi.JSONBody(checkpointWindowsForm)),
		},
		{
			Method: http.MethodGet, Path: path + "/:checkpoint/files/*", Guard: openapi.GuardIdentity, Handler: h.file, Tag: tag,
			Summary: "Fetch a file as a checkpoint holds it", Detail: "At most 8 MiB. Files of the workspace are not served.",
			Answers: append(openapi.Success(http.StatusOK, "The file.", openapi.Bytes(echo.MIMEOctetStream)), fileAnswers()...),
		},
		{
			Method: http.MethodPost, Path: path + "/restore", Guard: openapi.GuardIdentity, Handler: h.restore, Tag: tag,
			Summary: "Restore the files and windows of a checkpoint",
			Detail:  "The present state is saved first; the answer names that checkpoint, and restoring it undoes this. Agents must not be at work.",
			Body:    openapi.JSONBody(restoreCheckpointForm),
			Answers: openapi.Success(http.StatusOK, "What was restored.", openapi.JSONBody(checkpointRestoredForm)),
		},
	}
}

// available returns why there are no checkpoints, or nil.
func (h *checkpointHandlers) available() error {
	if h.checkpoints == nil {
		return checkpoints.ErrUnavailable
	}
	return h.checkpoints.Available()
}

// list responds with the checkpoints of a session.
func (h *checkpointHandlers) list(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if why := h.available(); why != nil {
		return checkpointListForm.Answer(c, http.StatusOK, &checkpointList{Reason: why.Error(), Checkpoints: []checkpointEntry{}})
	}
	all, err := h.checkpoints.List(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	out := checkpointList{Available: true, Checkpoints: make([]checkpointEntry, 0, len(all))}
	for _, p := range all {
		out.Checkpoints = append(out.Checkpoints, checkpointEntry{
			Hash: p.Hash, Number: p.Number, SavedAt: httpio.FormatTime(p.Time), Reason: p.Reason, TS: wire.Millis(p.TS),
			MonitorID: wire.MonitorID(p.Monitor), Files: p.Files,
		})
	}
	return checkpointListForm.Answer(c, http.StatusOK, &out)
}

// diff compares two states of the files.
func (h *checkpointHandlers) diff(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	from, to, path := c.QueryParam("from"), c.QueryParam("to"), c.QueryParam("path")
	if from == "" {
		return problem.Query("from", "Want a checkpoint.")
	}
	if err := h.available(); err != nil {
		return err
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout)) // fails only in tests
	changed, err := h.checkpoints.Compare(c.Request().Context(), info.ID, from, to)
	if err != nil {
		return err
	}
	out := checkpointDiff{Files: make([]changedFile, 0, len(changed))}
	for _, f := range changed {
		out.Files = append(out.Files, changedFile{Path: f.Path, Kind: f.Kind, Mode: f.Mode, Added: f.Added, Removed: f.Removed, Binary: f.Binary})
	}
	if path != "" {
		text, whole, err := h.checkpoints.Patch(c.Request().Context(), info.ID, from, to, path, maxPatch)
		if err != nil {
			return err
		}
		out.Patch, out.Cut = text, !whole
	}
	return checkpointDiffForm.Answer(c, http.StatusOK, &out)
}

// windows responds with the windows of a checkpoint.
func (h *checkpointHandlers) windows(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if err := h.available(); err != nil {
		return err
	}
	data, err := h.checkpoints.Windows(c.Request().Context(), info.ID, c.Param("checkpoint"))
	if err != nil {
		return err
	}
	out := checkpointWindows{Windows: []wire.WindowState{}}
	if len(data) > 0 {
		if out, err = checkpointWindowsForm().DecodeOwn(data); err != nil {
			return fmt.Errorf("windows of a checkpoint: %w", err)
		}
	}
	return checkpointWindowsForm.Answer(c, http.StatusOK, &out)
}

// file responds with a file of a checkpoint.
func (h *checkpointHandlers) file(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if err := h.available(); err != nil {
		return err
	}
	name := httpio.PathParam(c, "*")
	f, err := h.checkpoints.File(c.Request().Context(), info.ID, c.Param("checkpoint"), name, maxCheckpointFile)
	if err != nil {
		return err
	}
	return sendContent(c, name, f.Hash, time.Time{}, bytes.NewReader(f.Content))
}

// restore restores a checkpoint.
func (h *checkpointHandlers) restore(c echo.Context) error {
	info, err := h.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	in, err := restoreCheckpointForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	if in.MessageID, err = messageID(c, in.MessageID); err != nil {
		return err
	}
	answer, err := h.requests.deliverAndWait(c, info.ID, wire.Message{Session: info.ID, ID: in.MessageID, Data: in})
	if err != nil {
		return err
	}
	done, ok := answer.Data.(wire.CheckpointRestored)
	if !ok { // the same request again
		done = wire.CheckpointRestored{Hash: in.Hash, MessageID: in.MessageID}
	}
	return checkpointRestoredForm.Answer(c, http.StatusOK, &done)
}

// set switches checkpoints on or off.
func (h *checkpointHandlers) set(c echo.Context) error {
	info, err := h.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	in, err := checkpointSwitchForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	if err := h.available(); err != nil {
		return err
	}
	id, err := messageID(c, "")
	if err != nil {
		return err
	}
	if err := h.requests.withHandle(c, info, func(ctx context.Context, to *session.Handle) error {
		return to.Deliver(ctx, session.Command{
			From:    session.Sender{Connection: access.NewConnectionID(), User: access.Caller(c).User, Invited: access.Caller(c).Session != ""},
			Message: wire.Message{Session: info.ID, ID: id, Data: wire.SetCheckpoints{Enabled: in.Enabled}},
		})
	}); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}
