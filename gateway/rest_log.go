package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

const (
	mediaZip = "application/zip"
	// importBytes is how large a session log may be, packed.
	importBytes = 128 << 20
	// logFiles is how many files of a session are packed.
	logFiles = 5_000
	// unfinished is what admins see a session called until all of it is there.
	unfinished = "Unfinished import"
)

// packRoutes are those of sessions as files.
func (s *Server) packRoutes() []route {
	const tag = "sessions"
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions/:session/export", guard: guardKnown, do: s.exportSession, tag: tag,
			summary: "The session as a file",
			detail: "A zip with metadata.json, messages.jsonl, the rows that people saw, the messages that models saw, the desktop and the session's files. " +
				"What is going on at that moment is not in it. For those who may speak in the session.",
			answers: ok(http.StatusOK, "The session log. An end that comes too early means that something went wrong; such a file is refused when it is imported.", bytesOf(mediaZip)),
		},
		{
			method: http.MethodPost, path: "/api/sessions/import", guard: guardKnown, do: s.importSession, tag: tag,
			summary: "Make a session of a file", body: bytesOf(mediaZip),
			detail: "The body is what an export gave. What is no such file, or is damaged, is refused with the reason, and nothing is changed.",
			query: []param{
				{name: "policy", doc: "full (everything; the default), main_and_selected_windows, or summarize_old_windows (the same, and a line about each window that was not chosen)."},
				{name: "window", doc: "A window that is chosen, for all policies but full.", many: true},
				{name: "title", doc: "What the session is called; as it was when absent."},
			},
			answers: ok(http.StatusCreated, "The new session, which belongs to the caller.", of(cardForm), param{name: echo.HeaderLocation, doc: "Where it is."}),
		},
	}
}

// exportSession packs a session.
func (s *Server) exportSession(c echo.Context) error {
	info, err := s.requireAccess(c, accessOperator)
	if err != nil {
		return err
	}
	source, err := s.hub.Export(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	if source.Files, err = s.filesOf(info.ID, "", nil); err != nil {
		return err
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
		// The answer has begun: only its end can say that it is not whole.
		s.log.WarnContext(c.Request().Context(), "an export broke off", "session", info.ID, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// filesOf are the files in a folder of a session and in those below it.
func (s *Server) filesOf(id wire.SessionID, folder string, found []sessionfile.File) ([]sessionfile.File, error) {
	all, err := s.files.List(id, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		switch {
		case e.Folder:
			if found, err = s.filesOf(id, e.Path, found); err != nil {
				return nil, err
			}
		case len(found) >= logFiles:
			return nil, problem(wire.CodeSessionInvalidState, fmt.Sprintf("The session has more than %d files.", logFiles))
		default:
			found = append(found, sessionfile.File{Name: e.Path, Size: e.Size, Open: func() (io.ReadCloser, error) {
				f, _, err := s.files.Open(id, e.Path)
				return f, err
			}})
		}
	}
	return found, nil
}

// importSession makes a session of a log.
func (s *Server) importSession(c echo.Context) error {
	me := caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return problem(wire.CodeForbidden, "")
	}
	q := c.QueryParams()
	policy := sessionfile.Policy{Kind: sessionfile.PolicyKind(q.Get("policy"))}
	for _, w := range q["window"] {
		policy.Windows = append(policy.Windows, wire.WindowID(w))
	}
	if err := policy.Check(); err != nil {
		return refusedLog(err)
	}
	log, closed, err := s.readLog(c)
	if err != nil {
		return err
	}
	defer closed()
	if log, err = log.Restored(policy); err != nil {
		return refusedLog(err)
	}
	for _, f := range log.Files {
		if err := files.CheckName(f.Name); err != nil {
			return refusedLog(&sessionfile.RefusedError{Part: "storage/" + f.Name, Reason: err.Error()})
		}
	}
	title := log.Meta.Title
	if q.Has("title") {
		title = q.Get("title")
	}
	info, err := s.createWithinLimit(c.Request().Context(), session.NewSession{User: me.User, Title: unfinished, Importing: true})
	if err != nil {
		return err
	}
	// Whoever has sent it may leave now; half a session would be of no use.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), transferTimeout)
	defer cancel()
	if err := s.fill(ctx, info, title, log); err != nil {
		return errors.Join(refusedLog(err), s.giveUp(ctx, info.ID))
	}
	if info, err = s.hub.Info(ctx, info.ID); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, "/api/sessions/"+url.PathEscape(string(info.ID)))
	card := s.cardOf(me, info)
	return cardForm.answer(c, http.StatusCreated, &card)
}

// readLog takes the body of a request to the disk and looks at all of it.
func (s *Server) readLog(c echo.Context) (*sessionfile.Log, func(), error) {
	if err := requireUncompressed(c.Request()); err != nil {
		return nil, nil, err
	}
	control := http.NewResponseController(c.Response())
	until := time.Now().Add(transferTimeout)
	_ = control.SetReadDeadline(until)  // not every writer has deadlines,
	_ = control.SetWriteDeadline(until) // those of tests have none
	f, err := os.CreateTemp("", "everdesk-import-*.zip")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the session log: %w", err)
	}
	// The file goes with the process that has it open, even if that is killed. Where an
	// open file cannot be removed, closed does it.
	_ = os.Remove(f.Name())
	closed := func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	size, err := io.Copy(f, bodyOf(c, importBytes))
	if err != nil {
		closed()
		return nil, nil, err
	}
	log, err := sessionfile.Read(f, size, sessionfile.Limits{})
	if err != nil {
		closed()
		return nil, nil, refusedLog(err)
	}
	return log, closed, nil
}

// fill makes a new session what a log says.
func (s *Server) fill(ctx context.Context, info session.Info, title string, log *sessionfile.Log) error {
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
	return made.Finish(ctx, title, log)
}

func (s *Server) storeFile(ctx context.Context, id wire.SessionID, f sessionfile.File) error {
	from, err := f.Open()
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	defer func() { _ = from.Close() }()
	_, err = s.files.Save(ctx, id, f.Name, from, f.Size)
	return err
}

// giveUp takes back a session that could not be filled.
func (s *Server) giveUp(ctx context.Context, id wire.SessionID) error {
	return errors.Join(s.hub.Delete(ctx, id), s.files.RemoveAll(id))
}

// refusedLog is a refusal as a problem.
func refusedLog(err error) error {
	if wrong, ok := errors.AsType[*sessionfile.ChoiceError](err); ok {
		return queryProblem(wrong.Field, wrong.Reason)
	}
	if r, ok := errors.AsType[*sessionfile.RefusedError](err); ok {
		p := problem(wire.CodeInvalidMessage, r.Error())
		p.Field = r.Part
		return p
	}
	return err
}
