package problem

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// inTable are the errors of the packages below that clients see as more than an internal error.
func inTable() map[string]error {
	return map[string]error{
		"files.ErrTooLarge": files.ErrTooLarge, "files.ErrFull": files.ErrFull, "files.ErrBusy": files.ErrBusy, "files.ErrName": files.ErrName,
		"files.ErrChanged": files.ErrChanged, "files.ErrExists": files.ErrExists, "files.ErrOffset": files.ErrOffset,
		"apps.ErrID": apps.ErrID, "apps.ErrManifest": apps.ErrManifest, "apps.ErrTooLarge": apps.ErrTooLarge, "apps.ErrFull": apps.ErrFull, "apps.ErrNotFound": apps.ErrNotFound,
		"checkpoints.ErrUnavailable": checkpoints.ErrUnavailable, "checkpoints.ErrUnknown": checkpoints.ErrUnknown, "checkpoints.ErrTooLarge": checkpoints.ErrTooLarge,
		"files.ErrNoSpace": files.ErrNoSpace, "checkpoints.ErrTooSlow": checkpoints.ErrTooSlow, "checkpoints.ErrBusy": checkpoints.ErrBusy, "checkpoints.ErrNoSpace": checkpoints.ErrNoSpace, "checkpoints.ErrProtected": checkpoints.ErrProtected,
		"checkpoints.ErrBlocked": checkpoints.ErrBlocked, "checkpoints.ErrTransfer": checkpoints.ErrTransfer, "workspaces.ErrNotAllowed": workspaces.ErrNotAllowed,
		"store.ErrTrimmed": store.ErrTrimmed, "store.ErrUnknownPosition": store.ErrUnknownPosition, "store.ErrAhead": store.ErrAhead,
		"store.ErrCorrupt": store.ErrCorrupt, "store.ErrQuarantined": store.ErrQuarantined,
		"store.ErrInvalid": store.ErrInvalid, "store.ErrTooLarge": store.ErrTooLarge,
		"store.ErrNoSpace": store.ErrNoSpace, "store.ErrUnavailable": store.ErrUnavailable, "store.ErrClosed": store.ErrClosed, "store.ErrOtherFiles": store.ErrOtherFiles,
		"auth.ErrIssuer": auth.ErrIssuer,
	}
}

// internal are the errors that callers handle. Where one reaches a client, that is a defect.
var internal = map[string]string{
	"store.ErrNotFound": "callers know what was not found", "store.ErrExists": "callers choose another id",
	"store.ErrOwned": "sessions retry", "store.ErrFenced": "sessions give their lease up", "store.ErrGap": "sessions reload",
	"store.ErrConflict": "callers retry", "store.ErrFull": "sessions refuse with a code", "store.ErrNewerSchema": "the hub does not start",
	"audit.ErrInvalid": "handlers check the record", "audit.ErrReused": "handlers refuse with a code",
	"auth.ErrTooManyMCPTokens": "handlers refuse with a code",
	"auth.ErrTooManyLinks":     "handlers refuse with a code",
	"membership.ErrUnknown":    "handlers refuse with a code", "adminview.ErrQuery": "handlers refuse with a code",
	"broadcast.ErrClosed": "sessions retry", "session.ErrClosed": "sessions retry",
}

// exportedErrors returns the error variables that packages export.
func exportedErrors(t *testing.T, packages ...string) (names []string) {
	t.Helper()
	for _, p := range packages {
		sources, err := filepath.Glob(filepath.Join("..", "..", p, "*.go"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("sources of %s: got %q, error %v, want at least one", p, sources, err)
		}
		for _, name := range sources {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, s := range g.Specs {
					for _, id := range s.(*ast.ValueSpec).Names {
						if strings.HasPrefix(id.Name, "Err") {
							names = append(names, p+"."+id.Name)
						}
					}
				}
			}
		}
	}
	return names
}

// Every error that a package below the gateway exports is either in the table or known to be handled
// before it reaches a client.
func TestTableHasAllErrors(t *testing.T) {
	t.Parallel()
	known := inTable()
	found := exportedErrors(t, "store", "auth", "files", "checkpoints", "ratelimit", "audit", "membership", "adminview", "session", "sessionfile", "broadcast")
	if len(found) < 20 {
		t.Errorf("exported errors: got %d, want at least 20", len(found))
	}
	for _, name := range found {
		err, listed := known[name]
		if _, handled := internal[name]; listed == handled {
			t.Errorf("%s is in the table: %v, handled by callers: %v; want one of the two", name, listed, handled)
		}
		if listed && Of(err).Code == wire.CodeExecutionFailed {
			t.Errorf("%s: got an internal error for clients, want a code of its own", name)
		}
	}
}

// Each row has a code of package wire and a text, and only its own errors match it.
func TestTableRows(t *testing.T) {
	t.Parallel()
	seen := map[error]bool{}
	for i, r := range table() {
		for _, err := range r.errs {
			if seen[err] {
				t.Errorf("row %d: got %v, which is in an earlier row, want it once", i, err)
			}
			seen[err] = true
			for name, of := range map[string]func(error) *Error{"a request": Of, "a connection": OnConnection} {
				p := of(fmt.Errorf("open session: %w", err))
				if p.Code.Info().Code != p.Code || p.Status < http.StatusBadRequest || p.Detail == "" || p.Title != http.StatusText(p.Status) {
					t.Errorf("%s that fails with %v: got %+v, want a known code, its status and a detail", name, err, p)
				}
			}
		}
	}
}

// Each code of package wire becomes a problem with its status, text and advice, whichever type of
// error carries it.
func TestAllCodes(t *testing.T) {
	t.Parallel()
	for _, info := range wire.Codes() {
		for _, err := range []error{
			New(info.Code, ""), &wire.Error{Code: info.Code, Message: info.Message},
			&session.Error{Code: info.Code}, &auth.Error{Code: info.Code},
		} {
			for _, of := range []func(error) *Error{Of, OnConnection} {
				p := of(fmt.Errorf("open session: %w", err))
				if p.Code != info.Code || p.Name != info.Name || p.Status != info.Status || p.Detail != info.Message || p.Recoverable != info.Recoverable || p.SuggestedAction != info.Action {
					t.Errorf("%T with %s: got %+v, want %+v", err, info.Name, p, info)
				}
			}
		}
	}
}

// An error outside the table is internal and reveals nothing, least of all about the store.
func TestUnknownErrorsAreInternal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("a defect at 10.0.0.1"), &PanicError{Value: "boom"}, store.ErrNotFound, fs.ErrPermission, http.ErrServerClosed} {
		for _, of := range []func(error) *Error{Of, OnConnection, func(err error) *Error { return OfRequest(err, &http.Request{}) }} {
			if p := of(err); p.Code != wire.CodeExecutionFailed || p.Detail != wire.CodeExecutionFailed.Info().Message {
				t.Errorf("%v: got %+v, want code %v with its own text", err, p, wire.CodeExecutionFailed)
			}
		}
	}
}

// A wait that ends is the session's delay for a request, and the store's for a connection.
func TestEndOfAWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                 error
		request, connection wire.Code
	}{
		{context.DeadlineExceeded, wire.CodeConnectionTimeout, wire.CodeStoreUnavailable},
		{context.Canceled, wire.CodeConnectionFailed, wire.CodeStoreUnavailable},
	} {
		if got := Of(c.err).Code; got != c.request {
			t.Errorf("a request that ends with %v: got %v, want %v", c.err, got, c.request)
		}
		if got := OnConnection(c.err).Code; got != c.connection {
			t.Errorf("a connection that ends with %v: got %v, want %v", c.err, got, c.connection)
		}
	}
}

func TestErrorsOfTheRouter(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://hub/nowhere", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[*echo.HTTPError]string{
		echo.ErrNotFound: "Nothing is at /nowhere.", echo.ErrMethodNotAllowed: "PUT is not possible at /nowhere.",
	} {
		if p := OfRequest(err, r); p.Status != err.Code || p.Detail != want || p.Code != wire.CodeInvalidMessage {
			t.Errorf("%v: got %+v, want status %d: %s", err, p, err.Code, want)
		}
	}
}
