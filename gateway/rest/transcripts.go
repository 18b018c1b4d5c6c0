package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// transcript is a session's conversations as readable text.
type transcript struct {
	Transcript string `json:"transcript" doc:"Markdown."`
}

// restored are the actions that show the windows of a session on another desktop.
type restored struct {
	Actions         []wire.Action    `json:"actions"`
	ContextMessages []contextMessage `json:"contextMessages" doc:"The newest messages of monitor-0, oldest first."`
}

type contextMessage struct {
	Role    string `json:"role" doc:"user or assistant."`
	Content string `json:"content"`
}

var (
	transcriptForm = httpio.FormOf[transcript]()
	restoredForm   = httpio.FormOf[restored]()
)

// readNotes reads the newest part of the conversations on some monitors, and passes each to use
// while memory is reserved for it.
func (h *histories) readNotes(c echo.Context, info session.Info, monitors []wire.MonitorID, use func(wire.MonitorID, []history.Note, bool)) error {
	return h.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) error {
		for _, m := range monitors {
			page, err := h.hub.Rows(ctx, info.ID, session.RowQuery{Monitor: m, Limit: rowLimit.Default()})
			if err != nil {
				return err
			}
			notes, skipped := history.Digest(page.Rows, nil, httpio.MaxPageBytes/max(len(monitors), 1))
			use(m, notes, page.More || skipped > 0)
		}
		return nil
	})
}

func (h *histories) getTranscript(c echo.Context) error {
	info, state, err := h.requests.readState(c)
	if err != nil {
		return err
	}
	monitors := make([]wire.MonitorID, len(state.Monitors))
	for i, m := range state.Monitors {
		monitors[i] = m.MonitorID
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", cmp.Or(info.Title, string(info.ID)))
	err = h.readNotes(c, info, monitors, func(m wire.MonitorID, notes []history.Note, more bool) {
		if len(notes) == 0 {
			return
		}
		if len(monitors) > 1 {
			fmt.Fprintf(&b, "\n## %s\n", m)
		}
		if more {
			b.WriteString("\n_What is older is left out._\n")
		}
		for i := range notes {
			writeNote(&b, &notes[i])
		}
	})
	if err != nil {
		return err
	}
	return transcriptForm.Answer(c, http.StatusOK, &transcript{Transcript: b.String()})
}

// writeNote writes a note as Markdown.
func writeNote(b *strings.Builder, n *history.Note) {
	switch n.Type {
	case history.NoteText, history.NoteError, history.NoteAborted:
		speaker := map[history.NoteRole]string{history.NoteUser: "User", history.NoteAssistant: "Assistant"}[n.Role]
		if n.Type != history.NoteText {
			speaker = "Error"
		}
		if speaker == "" {
			speaker = "System"
		}
		at := time.UnixMilli(int64(n.Timestamp)).UTC().Format("2006-01-02 15:04:05")
		fmt.Fprintf(b, "\n**%s** (%s)\n\n%s\n", speaker, at, strings.TrimSpace(n.Content+n.Error))
	case history.NoteToolComplete:
		state := "done"
		if n.Success != nil && !*n.Success {
			state = "failed"
		}
		fmt.Fprintf(b, "\n- `%s` %s\n", n.ToolName, state)
	}
}

// postRestore responds with the actions that show the windows of a session; the caller applies them
// to its own desktop.
func (h *histories) postRestore(c echo.Context) error {
	info, state, err := h.requests.readState(c)
	if err != nil {
		return err
	}
	out := restored{Actions: state.WindowActions(), ContextMessages: []contextMessage{}}
	err = h.readNotes(c, info, []wire.MonitorID{"monitor-0"}, func(_ wire.MonitorID, notes []history.Note, _ bool) {
		for _, n := range notes {
			if n.Type == history.NoteText && n.Role != history.NoteSystem {
				out.ContextMessages = append(out.ContextMessages, contextMessage{Role: string(n.Role), Content: n.Content})
			}
		}
	})
	if err != nil {
		return err
	}
	return restoredForm.Answer(c, http.StatusOK, &out)
}

func (h *histories) transcriptRoutes() []openapi.Route {
	const tag = "desktop"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/transcript", Guard: openapi.GuardIdentity, Handler: h.getTranscript, Tag: tag,
			Summary: "The conversations of a session as Markdown", Detail: "The newest part of each monitor's conversation, as much as fits into a page of messages.",
			Answers: openapi.Success(http.StatusOK, "The transcript.", openapi.JSONBody(transcriptForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/restore", Guard: openapi.GuardIdentity, Handler: h.postRestore, Tag: tag,
			Summary: "The actions that show the windows of a session", Detail: "The caller applies the actions to its own desktop; no session is changed.",
			Answers: openapi.Success(http.StatusOK, "The actions.", openapi.JSONBody(restoredForm)),
		},
	}
}
