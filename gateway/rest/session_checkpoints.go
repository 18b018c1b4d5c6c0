package rest

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// maxImportedWorkspaces bounds the workspaces of a session file.
const maxImportedWorkspaces = 8

// addCheckpoints adds the checkpoints that a request asks for to an export. The caller must call the returned
// function when the export is written, also after an error.
func (s *sessionFiles) addCheckpoints(c echo.Context, id wire.SessionID, source *sessionfile.Source) (closed func(), err error) {
	var temporary []func()
	closed = func() {
		for _, remove := range temporary {
			remove()
		}
	}
	which := c.QueryParam("checkpoints")
	switch which {
	case "", "false":
		return closed, nil
	case "true", "workspaces":
	default:
		return closed, problem.Query("checkpoints", "Want true, workspaces or false.")
	}
	if s.checkpoints == nil {
		return closed, checkpoints.ErrUnavailable
	}
	ctx := c.Request().Context()
	export := func(name string, write func(io.Writer) (int, error)) (*sessionfile.File, error) {
		f, remove, err := s.exportToFile(name, write)
		if remove != nil {
			temporary = append(temporary, remove)
		}
		return f, err
	}
	source.Checkpoints, err = export("", func(out io.Writer) (int, error) { return s.checkpoints.Export(ctx, id, out) })
	if err != nil || which != "workspaces" || source.Checkpoints == nil {
		return closed, err
	}
	if err := requireAccount(c); err != nil { // guests do not see folders of the host
		return closed, err
	}
	names, err := s.checkpoints.Workspaces(ctx, id)
	if err != nil {
		return closed, err
	}
	for _, name := range names {
		f, err := export(name, func(out io.Writer) (int, error) { return s.checkpoints.ExportWorkspace(ctx, id, name, out) })
		if err != nil {
			return closed, err
		}
		if f != nil {
			source.Workspaces = append(source.Workspaces, *f)
		}
	}
	return closed, nil
}

// exportToFile writes checkpoints to a temporary file, so that an error is known before the response begins. The
// result is nil if there are none. The returned function, unless it is nil, removes the file.
func (*sessionFiles) exportToFile(name string, write func(io.Writer) (int, error)) (*sessionfile.File, func(), error) {
	f, err := os.CreateTemp("", "everdesk-checkpoints-*")
	if err != nil {
		return nil, nil, fmt.Errorf("store the checkpoints: %w", err)
	}
	remove := func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	n, err := write(f)
	var size int64
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil || n == 0 {
		return nil, remove, err
	}
	return &sessionfile.File{Name: name, Size: size, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	}}, remove, nil
}

// importCheckpoints adds the checkpoints of a session file to a new session.
func (s *sessionFiles) importCheckpoints(ctx context.Context, id wire.SessionID, made *session.Import, log *sessionfile.Log) error {
	if log.Checkpoints == nil || s.checkpoints == nil {
		return nil
	}
	if err := s.checkpoints.Available(); err != nil {
		return nil //nolint:nilerr // a hub without git imports the rest
	}
	if len(log.Workspaces) > maxImportedWorkspaces {
		return &sessionfile.RefusedError{Part: "workspaces", Reason: fmt.Sprintf("it has more than %d", maxImportedWorkspaces)}
	}
	err := s.importPart(ctx, made, log.Checkpoints, func(from io.Reader) error {
		saved, err := s.checkpoints.Import(ctx, id, from)
		made.AddCheckpoints(saved)
		return err
	})
	for i := range log.Workspaces {
		if err != nil {
			return err
		}
		f := &log.Workspaces[i]
		err = s.importPart(ctx, made, f, func(from io.Reader) error { return s.checkpoints.ImportWorkspace(ctx, id, f.Name, from) })
	}
	return err
}

func (*sessionFiles) importPart(ctx context.Context, made *session.Import, f *sessionfile.File, do func(io.Reader) error) error {
	if err := made.Renew(ctx); err != nil {
		return err
	}
	from, err := f.Open()
	if err != nil {
		return fmt.Errorf("read the checkpoints: %w", err)
	}
	defer func() { _ = from.Close() }()
	return do(from)
}
