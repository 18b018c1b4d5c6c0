package rest

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// userDocument is a kind of document with one value per user, shared by all sessions of the user.
type userDocument[T any] struct {
	collection string
	form       httpio.Form[T]
	// initial is the value of users that have not changed it.
	initial T
}

// load returns the caller's value and its version in the store.
func (d userDocument[T]) load(from access.Documents, c echo.Context) (value T, version uint64, err error) {
	doc, err := from.Get(c.Request().Context(), d.collection, access.Caller(c).User)
	if errors.Is(err, store.ErrNotFound) {
		return d.initial, 0, nil
	}
	if err != nil {
		return value, 0, err
	}
	if value, err = d.form().DecodeOwn(doc.Data); err != nil {
		return value, 0, fmt.Errorf("%s of a user cannot be read", d.collection)
	}
	return value, doc.Version, nil
}

// patch changes the caller's value and responds with the new one, unless the caller may not or err,
// the result of decoding the request, is set. Concurrent requests both take effect.
func (d userDocument[T]) patch(in access.Documents, c echo.Context, err error, change func(*T)) error {
	if me := access.Caller(c); !me.Has(auth.RoleUser) || me.Session != "" {
		return problem.New(wire.CodeForbidden, "")
	}
	if err != nil {
		return err
	}
	for {
		value, version, err := d.load(in, c)
		if err != nil {
			return err
		}
		change(&value)
		_, err = in.Put(c.Request().Context(), store.Document{
			Collection: d.collection, Name: access.Caller(c).User, Version: version, Data: d.form().Append(nil, &value),
		})
		if err == nil {
			return d.form.Answer(c, http.StatusOK, &value)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
