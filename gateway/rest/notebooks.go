package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/notebookfile"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// notebookHandlers export and import notebooks.
type notebookHandlers struct{ requests *sessionRequests }

// notebookMedia is the media type of notebook files.
const notebookMedia = "application/x-ipynb+json"

func (h *notebookHandlers) routes() []openapi.Route {
	const tag = "notebooks"
	const path = "/api/sessions/:session/notebooks/:window"
	monitor := openapi.Param{Name: "monitor", Doc: "The monitor of the window; the first one when absent."}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: path, Guard: openapi.GuardIdentity, Handler: h.get, Tag: tag,
			Summary: "Download a notebook as a file", Query: []openapi.Param{monitor},
			Answers: openapi.Success(http.StatusOK, "The notebook in the format 4.5.", &openapi.Content{Media: notebookMedia}),
		},
		{
			Method: http.MethodPut, Path: path, Guard: openapi.GuardIdentity, Handler: h.put, Tag: tag,
			Summary: "Open a window with a notebook file", Query: []openapi.Param{
				monitor, {Name: "title", Doc: "The title of the window; its id when absent."}, {Name: "run", Doc: "true runs all cells."},
			},
			Detail:  "A text/x-python body is a script, whose cells begin with lines of # %%. Everything else is a notebook file. A window with the same id is replaced.",
			Body:    &openapi.Content{Media: notebookMedia},
			Answers: openapi.NoContent("It is open."),
		},
	}
}

func (h *notebookHandlers) monitor(c echo.Context) (wire.MonitorID, error) {
	m := wire.MonitorID(c.QueryParam("monitor"))
	if m == "" {
		return "monitor-0", nil
	}
	if m.Validate() != nil {
		return "", problem.Query("monitor", "Want the id of a monitor.")
	}
	return m, nil
}

// target returns what a request names, for a caller with at least the given level.
func (h *notebookHandlers) target(c echo.Context, least access.Level) (info session.Info, monitor wire.MonitorID, id wire.WindowID, err error) {
	if info, err = h.requests.require(c, least); err != nil {
		return info, "", "", err
	}
	if monitor, err = h.monitor(c); err != nil {
		return info, "", "", err
	}
	id = wire.WindowID(c.Param("window"))
	if err := id.Validate(); err != nil {
		return info, "", "", &session.Error{Code: wire.CodeInvalidMessage, Reason: err.Error()}
	}
	return info, monitor, id, nil
}

// get responds with a notebook as a file.
func (h *notebookHandlers) get(c echo.Context) error {
	info, monitor, id, err := h.target(c, access.Viewer)
	if err != nil {
		return err
	}
	var found *wire.Notebook
	if err := h.requests.withHandle(c, info, func(ctx context.Context, to *session.Handle) error {
		state, err := to.Snapshot(ctx, []wire.MonitorID{monitor})
		for _, w := range state.Windows {
			if n, ok := w.Content.(wire.NotebookContent); ok && w.WindowID == id {
				found = &n.Data
			}
		}
		return err
	}); err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("notebook %q: %w", id, fs.ErrNotExist)
	}
	data, err := notebookfile.Encode(*found)
	if err != nil {
		return fmt.Errorf("notebook %q: %w", id, err)
	}
	name := mime.FormatMediaType("attachment", map[string]string{"filename": string(id) + ".ipynb"})
	c.Response().Header().Set(echo.HeaderContentDisposition, name)
	c.Response().Header().Set("X-Content-Type-Options", "nosniff")
	return c.Blob(http.StatusOK, notebookMedia, data)
}

// put opens a window with a notebook file.
func (h *notebookHandlers) put(c echo.Context) error {
	info, monitor, id, err := h.target(c, access.Operator)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(c.Request().Body, notebookfile.MaxFile+1))
	if err != nil {
		return fmt.Errorf("read the notebook: %w", err)
	}
	var n wire.Notebook
	if strings.HasPrefix(c.Request().Header.Get(echo.HeaderContentType), "text/x-python") {
		n = notebookfile.FromScript(strings.ToValidUTF8(string(data), "\uFFFD"))
	} else if n, err = notebookfile.Decode(data); err != nil {
		return err //nolint:wrapcheck // the table of problems knows it
	}
	title := c.QueryParam("title")
	if title == "" {
		title = string(id)
	}
	create := wire.WindowCreate{
		WindowID: id, Title: title, Bounds: wire.Bounds{X: 120, Y: 80, W: 760, H: 560}, Content: wire.NotebookContent{Data: n},
	}
	message, err := messageID(c, "")
	if err != nil {
		return err
	}
	if _, err := h.requests.deliverAndWait(c, info.ID, wire.Message{
		Session: info.ID, ID: message, Data: wire.Emit{Actions: []wire.Action{create}, MonitorID: monitor, MessageID: message},
	}); err != nil {
		return err
	}
	if c.QueryParam("run") == "true" {
		sum := sha256.Sum256([]byte(message))
		run := wire.MessageID("run-" + hex.EncodeToString(sum[:16])) // the same in a repeated request, which runs it once
		if _, err := h.requests.deliverAndWait(c, info.ID, wire.Message{
			Session: info.ID, ID: run, Data: wire.RunCells{WindowID: id, MonitorID: monitor, MessageID: run},
		}); err != nil {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}
