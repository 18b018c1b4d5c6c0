package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// sessionFiles export sessions as files and import them.
type sessionFiles struct {
	requests *sessionRequests
	hub      *session.Hub
	sessions *access.Sessions
	files    *files.Store
	// checkpoints is nil if there are none.
	checkpoints CheckpointTransfer
	log         *slog.Logger
	provider    string        // the model backend of new sessions, or ""
	imports     chan struct{} // has an element for each import that holds a session in memory
}

// CheckpointTransfer exports and imports the checkpoints of sessions.
type CheckpointTransfer interface {
	// Available returns why there are no checkpoints, or nil.
	Available() error
	// Export writes the checkpoints of a session's files and returns their number. Without any it
	// writes nothing.
	Export(ctx context.Context, id wire.SessionID, out io.Writer) (int, error)
	// Import adds checkpoints to a session that has none.
	Import(ctx context.Context, id wire.SessionID, in io.Reader) ([]checkpoints.Checkpoint, error)
	// Workspaces returns the names of the workspaces that the checkpoints of a session name.
	Workspaces(ctx context.Context, id wire.SessionID) ([]string, error)
	// ExportWorkspace is Export for one workspace that the checkpoints of the session name.
	ExportWorkspace(ctx context.Context, id wire.SessionID, name string, out io.Writer) (int, error)
	// ImportWorkspace is Import for one workspace. An error may leave a part of the checkpoints.
	ImportWorkspace(ctx context.Context, id wire.SessionID, name string, in io.Reader) error
}

const (
	mediaZip = "application/zip"
	// maxImportBytes bounds a session file. Its content may be impossible to compress.
	maxImportBytes = sessionfile.MaxBytes
	// maxImports bounds the imports that hold a session in memory at once.
	maxImports = 2
	// maxExportFiles bounds the files of an exported session.
	maxExportFiles = 5_000
	// importWait bounds how long an import waits for others.
	importWait = time.Minute
	// importTitle is the title that admins see while an import is running.
	importTitle = "Unfinished import"
)

// routes are the routes for exporting and importing sessions.
func (s *sessionFiles) routes() []openapi.Route {
	const tag = "sessions"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/export", Guard: openapi.GuardIdentity, Handler: s.export, Tag: tag,
			Summary: "Export a session as a file",
			Detail: "A zip with metadata.json, messages.jsonl, the visible rows, the model histories, the desktop state and the session's files. " +
				"Running turns are not included. Needs operator access.",
			Query:   []openapi.Param{{Name: "checkpoints", Doc: "true includes the checkpoints of the session's files, if there are any; workspaces also those of its workspaces, for users with an account."}},
			Answers: openapi.Success(http.StatusOK, "The session file. A truncated file means that the export failed; importing it is refused.", openapi.Bytes(mediaZip)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/import", Guard: openapi.GuardIdentity, Handler: s.importFile, Tag: tag,
			Summary: "Import a session from a file", Body: openapi.Bytes(mediaZip),
			Detail: "The body is an exported file. Another or a damaged file is refused with the reason, without any effect.",
			Query: []openapi.Param{
				{Name: "policy", Doc: "full (everything; the default), main_and_selected_windows, or summarize_old_windows (the same, and a line about each window that was not selected)."},
				{Name: "window", Doc: "A selected window, for all policies but full.", Repeated: true},
				{Name: "checkpoints", Doc: "false leaves out the checkpoints that the file has. A hub without checkpoints leaves them out too."},
				{Name: "title", Doc: "The title of the session; that of the file when absent."},
			},
			Answers: openapi.Success(http.StatusCreated, "The new session, which belongs to the caller.", openapi.JSONBody(cardForm), openapi.Param{Name: echo.HeaderLocation, Doc: "The URL of the session."}),
		},
	}
}

// export handles the export of a session.
func (s *sessionFiles) export(c echo.Context) error {
	info, err := s.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	source, err := s.hub.Export(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	if source.Files, err = s.filesOf(c.Request().Context(), info.ID); err != nil {
		return err
	}
	closed, err := s.addCheckpoints(c, info.ID, &source)
	defer closed()
	if err != nil {
		return err
	}
	if source.FileBytes() > sessionfile.MaxFileBytes {
		return problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("The files and checkpoints have more than %d bytes, so no hub would import them.", sessionfile.MaxFileBytes))
	}
	source.Meta.ExportedAt = time.Now().UTC()
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout))
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mediaZip)
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderCacheControl, "private, no-store")
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": string(info.ID) + ".zip"}))
	c.Response().WriteHeader(http.StatusOK)
	if err := sessionfile.Write(c.Response(), source); err != nil {
		// The response has begun: only aborting it shows that it is incomplete.
		s.log.WarnContext(c.Request().Context(), "session export failed", "session", info.ID, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// filesOf returns the files of a session.
func (s *sessionFiles) filesOf(ctx context.Context, id wire.SessionID) ([]sessionfile.File, error) {
	all, err := s.files.ListAll(ctx, id, "")
	if err != nil {
		return nil, err
	}
	var found []sessionfile.File
	for _, e := range all {
		switch {
		case e.Folder, files.CheckNewName(e.Path) != nil: // no hub would import it; programs make such files
		case len(found) >= maxExportFiles:
			return nil, problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("The session has more than %d files.", maxExportFiles))
		default:
			found = append(found, sessionfile.File{Name: e.Path, Size: e.Size, Open: func() (io.ReadCloser, error) {
				f, _, err := s.files.Open(ctx, id, e.Path)
				if isUnreadable(err) {
					s.log.WarnContext(ctx, "file left out of an export", "session", id, "file", e.Path, "err", err)
					err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
				}
				return f, err
			}})
		}
	}
	return found, nil
}

// importFile handles the import of a session file.
func (s *sessionFiles) importFile(c echo.Context) error {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return problem.New(wire.CodeForbidden, "")
	}
	q := c.QueryParams()
	policy := sessionfile.Policy{Kind: sessionfile.PolicyKind(q.Get("policy"))}
	for _, w := range q["window"] {
		policy.Windows = append(policy.Windows, wire.WindowID(w))
	}
	if err := policy.Check(); err != nil {
		return sessionFileProblem(err)
	}
	f, size, closed, err := receive(c)
	if err != nil {
		return err
	}
	defer closed()
	release, err := s.acquireImport(c.Request().Context())
	if err != nil {
		return err
	}
	defer release()
	log, err := sessionfile.Read(f, size, sessionfile.Limits{})
	if err != nil {
		return sessionFileProblem(err)
	}
	if log, err = log.Restored(policy); err != nil {
		return sessionFileProblem(err)
	}
	for _, f := range log.Files {
		if err := files.CheckName(f.Name); err != nil {
			return sessionFileProblem(&sessionfile.RefusedError{Part: "storage/" + f.Name, Reason: err.Error()})
		}
	}
	// Earlier versions exported settings of agents, too.
	log.Files = slices.DeleteFunc(log.Files, func(f sessionfile.File) bool { return files.CheckNewName(f.Name) != nil })
	if q.Get("checkpoints") == "false" {
		log.Checkpoints, log.Workspaces = nil, nil
	}
	title := log.Meta.Title
	if q.Has("title") {
		title = q.Get("title")
	}
	info, err := s.sessions.Create(c.Request().Context(), session.NewSession{User: me.User, Title: importTitle, Importing: true})
	if err != nil {
		return err
	}
	// The import goes on when the client disconnects: half a session would be of no use.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), transferTimeout)
	defer cancel()
	if err := s.importContent(ctx, info, title, log); err != nil {
		return errors.Join(sessionFileProblem(err), s.discard(ctx, info.ID))
	}
	if info, err = s.hub.Info(ctx, info.ID); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, "/api/sessions/"+url.PathEscape(string(info.ID)))
	card := cardOf(me, info, s.provider)
	return cardForm.Answer(c, http.StatusCreated, &card)
}

// receive stores the body of a request in a temporary file. The caller must call closed.
func receive(c echo.Context) (f *os.File, size int64, closed func(), err error) {
	if err := httpio.RequireUncompressed(c.Request()); err != nil {
		return nil, 0, nil, err
	}
	control := http.NewResponseController(c.Response())
	until := time.Now().Add(transferTimeout)
	_ = control.SetReadDeadline(until)  // fails only for a writer without deadlines,
	_ = control.SetWriteDeadline(until) // as in tests
	if f, err = os.CreateTemp("", "everdesk-import-*.zip"); err != nil {
		return nil, 0, nil, fmt.Errorf("store the session file: %w", err)
	}
	// The system deletes the file when the process closes it or is killed. Where an open file
	// cannot be removed, closed removes it.
	_ = os.Remove(f.Name())
	closed = func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	if size, err = io.Copy(f, httpio.Body(c, maxImportBytes)); err != nil {
		closed()
		return nil, 0, nil, err
	}
	return f, size, closed, nil
}

// acquireImport waits until the session of a request may be read into memory, and returns the function that ends that.
func (s *sessionFiles) acquireImport(ctx context.Context) (release func(), err error) {
	timeout := time.NewTimer(importWait)
	defer timeout.Stop()
	select {
	case s.imports <- struct{}{}:
		return func() { <-s.imports }, nil
	case <-timeout.C:
		return nil, problem.New(wire.CodeRateLimited, "Too many sessions are imported at once.").WithStatus(http.StatusServiceUnavailable)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// importContent writes the content of a session file into a new session.
func (s *sessionFiles) importContent(ctx context.Context, info session.Info, title string, log *sessionfile.Log) error {
	made, err := s.hub.BeginImport(ctx, info.ID)
	if err != nil {
		return err
	}
	for _, f := range log.Files {
		if err := made.Renew(ctx); err != nil {
			return err
		}
		if err := s.storeFile(ctx, info.ID, f); err != nil {
			return err
		}
	}
	if err := s.importCheckpoints(ctx, info.ID, made, log); err != nil {
		return err
	}
	if err := made.Renew(ctx); err != nil {
		return err
	}
	return made.Finish(ctx, title, log)
}

func (s *sessionFiles) storeFile(ctx context.Context, id wire.SessionID, f sessionfile.File) error {
	from, err := f.Open()
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	defer func() { _ = from.Close() }()
	_, err = s.files.Import(ctx, id, f.Name, from, f.Size)
	return err
}

// discard deletes a session whose import failed.
func (s *sessionFiles) discard(ctx context.Context, id wire.SessionID) error {
	return errors.Join(s.hub.Delete(ctx, id), s.files.RemoveAll(ctx, id))
}

// sessionFileProblem maps a refused session file to a problem document.
func sessionFileProblem(err error) error {
	if wrong, ok := errors.AsType[*sessionfile.ChoiceError](err); ok {
		return problem.Query(wrong.Field, wrong.Reason)
	}
	if r, ok := errors.AsType[*sessionfile.RefusedError](err); ok {
		p := problem.New(wire.CodeInvalidMessage, r.Error())
		p.Field = r.Part
		return p
	}
	return err
}
