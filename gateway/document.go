package gateway

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// document is one value per user, the same in all sessions, in a collection of the
// store.
type document[T any] struct {
	collection string
	form       form[T]
	// initial is the value of users that have not changed it.
	initial T
}

// of returns the caller's value and its version in the store.
func (d document[T]) of(s *Server, c echo.Context) (value T, version uint64, err error) {
	doc, err := s.store.Get(c.Request().Context(), d.collection, caller(c).User)
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

// patch changes the caller's value and answers with the new one, unless the caller
// may not or the request could not be read, which is err. Of two requests at the same
// time each has its effect.
func (d document[T]) patch(s *Server, c echo.Context, err error, change func(*T)) error {
	if me := caller(c); !me.Has(auth.RoleUser) || me.Session != "" {
		return problem(wire.CodeForbidden, "")
	}
	if err != nil {
		return err
	}
	for {
		value, version, err := d.of(s, c)
		if err != nil {
			return err
		}
		change(&value)
		_, err = s.store.Put(c.Request().Context(), store.Document{
			Collection: d.collection, Name: caller(c).User, Version: version, Data: d.form().Append(nil, &value),
		})
		if err == nil {
			return d.form.answer(c, http.StatusOK, &value)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
