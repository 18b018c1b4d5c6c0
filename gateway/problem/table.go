package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/notebookfile"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// StoreFull is the detail for a store that answers but is full. Callers recognise a full store by it.
const StoreFull = "The store is full; try again in a moment."

// OtherFiles is the detail for a session that is in another storage of files than the one of this hub.
const OtherFiles = "The storage of files of this hub is not the one that has the cold sessions; try again later."

// row is one row of the table: the outcome of some errors.
type row struct {
	errs []error
	code wire.Code
	// status is the HTTP status; 0 means that of the code.
	status int
	// detail is the text for users; empty means that of the code. Where showsText is set, it is the
	// text of the error.
	detail    string
	showsText bool
	// field is the part of the request that was wrong.
	field string
	// connection is the code on a streaming connection, with its default text; 0 means the same as
	// elsewhere. There an error that ends a wait means that the store did not answer.
	connection wire.Code
}

// table returns the table of errors. The first row with a matching error counts.
func table() []row {
	return []row{
		{errs: []error{files.ErrTooLarge}, code: wire.CodeMessageTooLarge, detail: "The file is too large."},
		{errs: []error{files.ErrFull}, code: wire.CodeMessageTooLarge, status: http.StatusInsufficientStorage, detail: "The session has no room for more files."},
		{errs: []error{files.ErrBusy}, code: wire.CodeRateLimited, detail: "The session is sent too many files at once."},
		{errs: []error{files.ErrChanged}, code: wire.CodeSessionInvalidState, status: http.StatusPreconditionFailed, detail: "The file has changed meanwhile."},
		{errs: []error{files.ErrExists}, code: wire.CodeSessionInvalidState, status: http.StatusConflict, detail: "There is a file or folder with this name."},
		{errs: []error{files.ErrOffset}, code: wire.CodeSessionInvalidState, status: http.StatusConflict, detail: "The upload has another offset."},
		{errs: []error{files.ErrNoSpace}, code: wire.CodeMessageTooLarge, status: http.StatusInsufficientStorage, detail: "The disk of files is full; an operator has to look at it."},
		{errs: []error{files.ErrName}, code: wire.CodeInvalidMessage, showsText: true, field: "path"},
		{errs: []error{checkpoints.ErrUnavailable}, code: wire.CodeSessionInvalidState, status: http.StatusServiceUnavailable, detail: "Checkpoints are not available on this hub."},
		{errs: []error{checkpoints.ErrUnknown}, code: wire.CodeInvalidMessage, status: http.StatusNotFound, detail: "There is no such checkpoint."},
		{errs: []error{checkpoints.ErrTooLarge}, code: wire.CodeMessageTooLarge, detail: "The folder is too large for checkpoints."},
		{errs: []error{checkpoints.ErrBusy}, code: wire.CodeSessionInvalidState, status: http.StatusServiceUnavailable, detail: "Other operations on these checkpoints take too long; try again."},
		{errs: []error{checkpoints.ErrTooSlow}, code: wire.CodeSessionInvalidState, status: http.StatusServiceUnavailable, detail: "Git did not finish in time."},
		{errs: []error{checkpoints.ErrNoSpace}, code: wire.CodeMessageTooLarge, status: http.StatusInsufficientStorage, detail: "There is no space for checkpoints."},
		{errs: []error{checkpoints.ErrTransfer}, code: wire.CodeInvalidMessage, detail: "The checkpoints of the session file are damaged.", field: "checkpoints.pack"},
		{errs: []error{workspaces.ErrNotAllowed}, code: wire.CodeInvalidMessage, showsText: true, field: "folder"},
		{errs: []error{checkpoints.ErrProtected, checkpoints.ErrBlocked}, code: wire.CodeSessionInvalidState, showsText: true},
		{errs: []error{apps.ErrID}, code: wire.CodeInvalidMessage, showsText: true, field: "app"},
		{errs: []error{apps.ErrManifest}, code: wire.CodeInvalidMessage, showsText: true},
		{errs: []error{apps.ErrTooLarge}, code: wire.CodeMessageTooLarge, detail: "The file or the app is too large."},
		{errs: []error{apps.ErrFull}, code: wire.CodeMessageTooLarge, status: http.StatusInsufficientStorage, detail: "There is no room for more."},
		{errs: []error{apps.ErrNotFound}, code: wire.CodeInvalidMessage, status: http.StatusNotFound, detail: "There is no such app, or it has no such file."},
		{errs: []error{notebookfile.ErrFormat}, code: wire.CodeInvalidMessage, showsText: true},
		{errs: []error{fs.ErrNotExist}, code: wire.CodeInvalidMessage, status: http.StatusNotFound, detail: "There is no such file."},
		{
			errs: []error{store.ErrTrimmed, store.ErrUnknownPosition, store.ErrAhead}, code: wire.CodeSessionInvalidState, status: http.StatusGone,
			detail: "That position is not in the log; begin with the snapshot.", field: "after",
		},
		{
			errs: []error{store.ErrCorrupt, store.ErrQuarantined}, code: wire.CodeSessionInvalidState,
			detail: "What is stored of it cannot be read; an operator has to look at it.",
		},
		{errs: []error{store.ErrInvalid, store.ErrTooLarge}, code: wire.CodeInvalidMessage, detail: "That cannot be kept."},
		{errs: []error{auth.ErrIssuer}, code: wire.CodeIssuerUnavailable},
		{errs: []error{store.ErrNoSpace}, code: wire.CodeStoreUnavailable, detail: StoreFull},
		{errs: []error{store.ErrOtherFiles}, code: wire.CodeStoreUnavailable, detail: OtherFiles},
		{errs: []error{store.ErrUnavailable, store.ErrClosed}, code: wire.CodeStoreUnavailable},
		{
			errs: []error{context.DeadlineExceeded}, code: wire.CodeConnectionTimeout, status: http.StatusGatewayTimeout,
			detail: "The session did not answer in time.", connection: wire.CodeStoreUnavailable,
		},
		{errs: []error{context.Canceled}, code: wire.CodeConnectionFailed, detail: "The request was given up.", connection: wire.CodeStoreUnavailable},
	}
}

// matches reports whether the row has the outcome of err.
func (r *row) matches(err error) bool {
	for _, e := range r.errs {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// problem returns the outcome of err, which matches the row.
func (r *row) problem(err error) *Error {
	detail := r.detail
	if r.showsText {
		detail = err.Error()
	}
	p := New(r.code, detail)
	if r.status != 0 {
		p = p.WithStatus(r.status)
	}
	p.Field = r.field
	return p
}

// Of maps err to the problem document that the client gets. An unknown error becomes an internal one
// without its text, which goes to the log only.
func Of(err error) *Error {
	if p := withCode(err); p != nil {
		return p
	}
	for _, r := range table() {
		if r.matches(err) {
			return r.problem(err)
		}
	}
	return New(wire.CodeExecutionFailed, "")
}

// OfRequest is Of for an error that may also be the router's.
func OfRequest(err error, r *http.Request) *Error {
	if h, ok := errors.AsType[*echo.HTTPError](err); ok && withCode(err) == nil {
		switch h.Code {
		case http.StatusNotFound:
			return Status(h.Code, fmt.Sprintf("Nothing is at %.100s.", r.URL.Path))
		case http.StatusMethodNotAllowed:
			return Status(h.Code, fmt.Sprintf("%.20s is not possible at %.100s.", r.Method, r.URL.Path))
		}
	}
	return Of(err)
}

// OnConnection is Of for a connection of package ws that is open already. Its own rows also win over
// the code that an error carries.
func OnConnection(err error) *Error {
	for _, r := range table() {
		if r.connection != 0 && r.matches(err) {
			return New(r.connection, "")
		}
	}
	return Of(err)
}

// withCode returns the problem of an error that has a code itself, or nil.
func withCode(err error) *Error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		notice := e.Notice()
		p := New(e.Code, notice.Message)
		p.Field, p.MessageID = notice.Field, notice.MessageID
		return p
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return New(e.Code, e.Reason)
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return New(e.Code, e.Reason)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return New(wire.CodeMessageTooLarge, fmt.Sprintf("At most %d bytes are taken.", e.Limit))
	}
	return nil
}
