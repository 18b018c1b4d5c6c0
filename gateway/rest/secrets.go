package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// secretHandlers serve secrets, which clients can write but not read.
type secretHandlers struct {
	secrets    *secrets.Store
	settings   *settings.Store
	actions    *admin.Actions
	frameBytes int64
}

// secretInfo is what clients may know about a secret.
type secretInfo struct {
	Name       string `json:"name"`
	Doc        string `json:"doc,omitempty" doc:"What a secret of the catalogue is for."`
	Set        bool   `json:"set" doc:"Whether there is one."`
	LastFour   string `json:"lastFour,omitempty" doc:"The last four characters; absent if it is short or cannot be read."`
	ChangedAt  string `json:"changedAt,omitempty" doc:"RFC 3339."`
	Unreadable string `json:"unreadable,omitempty" doc:"Why the hub cannot read the secret; set it again."`
	Pinned     string `json:"pinned,omitempty" doc:"The flag with which the operator has set it; it cannot be changed."`
}

type secretList struct {
	Scope   wire.SettingScope `json:"scope"`
	Secrets []secretInfo      `json:"secrets"`
	Refusal string            `json:"refusal,omitempty" doc:"Why no secret can be stored."`
}

type newSecret struct {
	Value string `json:"value" wire:"min=1,max=8192" doc:"The secret; no request returns it."`
}

type rotation struct {
	Sealed     int    `json:"sealed" doc:"The secrets that were encrypted again."`
	Unreadable int    `json:"unreadable" doc:"The secrets that no key of the hub opens; they are unchanged."`
	Key        string `json:"key" doc:"The id of the key that the others are encrypted with now."`
}

var (
	secretListForm = httpio.FormOf[secretList]()
	newSecretForm  = httpio.FormOf[newSecret]()
	rotationForm   = httpio.FormOf[rotation]()
)

// owner returns whose secrets the query means. Those of the hub are for admins.
func (s *secretHandlers) owner(c echo.Context) (secrets.Owner, error) {
	scope, of, err := subjectOf(c)
	if err != nil {
		return secrets.Owner{}, err
	}
	me := access.Caller(c)
	if me.Session != "" || !me.Has(auth.RoleUser) && scope == settings.ScopeUser || !me.Has(auth.RoleAdmin) && scope == settings.ScopeHub {
		return secrets.Owner{}, problem.New(wire.CodeForbidden, "")
	}
	return secrets.Owner{User: of.User}, nil
}

func scopeOf(of secrets.Owner) settings.Scope {
	if of.User == "" {
		return settings.ScopeHub
	}
	return settings.ScopeUser
}

// list responds with the secrets that are set and those of the catalogue.
func (s *secretHandlers) list(c echo.Context) error {
	of, err := s.owner(c)
	if err != nil {
		return err
	}
	all, err := s.secrets.List(c.Request().Context(), of)
	if err != nil {
		return err
	}
	answer := secretList{Scope: scopeOf(of)}
	if err := s.secrets.Storable(); err != nil {
		answer.Refusal = err.Error()
	}
	for _, one := range all {
		answer.Secrets = append(answer.Secrets, secretInfo{
			Name: one.Name, Set: true, LastFour: one.LastFour, ChangedAt: httpio.FormatTime(one.Changed), Unreadable: one.Unreadable,
		})
	}
	for _, declared := range s.settings.Secrets(answer.Scope) {
		i := slices.IndexFunc(answer.Secrets, func(one secretInfo) bool { return one.Name == declared.Name })
		if i < 0 {
			i = len(answer.Secrets)
			answer.Secrets = append(answer.Secrets, secretInfo{Name: declared.Name})
		}
		answer.Secrets[i].Doc, answer.Secrets[i].Pinned = declared.Doc, s.settings.Pinned(declared.Name)
	}
	return secretListForm.Answer(c, http.StatusOK, &answer)
}

func (s *secretHandlers) put(c echo.Context) error {
	of, err := s.owner(c)
	if err != nil {
		return err
	}
	in, err := newSecretForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	return s.change(c, of, "secret.set", func(ctx context.Context, name string) error {
		return s.secrets.Set(ctx, of, name, secrets.NewValue(in.Value))
	})
}

func (s *secretHandlers) delete(c echo.Context) error {
	of, err := s.owner(c)
	if err != nil {
		return err
	}
	return s.change(c, of, "secret.delete", func(ctx context.Context, name string) error { return s.secrets.Remove(ctx, of, name) })
}

// change changes a secret. For those of the hub it is an admin action.
func (s *secretHandlers) change(c echo.Context, of secrets.Owner, action string, do func(ctx context.Context, name string) error) error {
	name := httpio.PathParam(c, "name")
	if scopeOf(of) == settings.ScopeHub && s.settings.Pinned(name) != "" {
		return problem.New(wire.CodeForbidden, "The operator has set it: "+s.settings.Pinned(name)+".")
	}
	var err error
	if scopeOf(of) == settings.ScopeUser {
		err = do(c.Request().Context(), name)
	} else {
		err = s.actions.PerformWithoutReason(c, admin.Action{Action: action, Target: name, Execute: func(ctx context.Context, _ string) (string, error) {
			return "", secretProblem(do(ctx, name))
		}})
	}
	if err != nil {
		return secretProblem(err)
	}
	return c.NoContent(http.StatusNoContent)
}

// secretProblem returns the response to an error of the secrets.
func secretProblem(err error) error {
	switch {
	case errors.Is(err, secrets.ErrInvalid):
		return problem.New(wire.CodeInvalidMessage, secrets.ErrInvalid.Error())
	case errors.Is(err, secrets.ErrNoKey), errors.Is(err, secrets.ErrFull), errors.Is(err, secrets.ErrRotating):
		return problem.Status(http.StatusConflict, err.Error())
	}
	return err
}

// rotate encrypts all secrets with the newest key.
func (s *secretHandlers) rotate(c echo.Context) error {
	var done secrets.Rotation
	err := s.actions.PerformWithoutReason(c, admin.Action{Action: "secrets.rotate", Target: "hub", Execute: func(ctx context.Context, _ string) (_ string, err error) {
		done, err = s.secrets.Rotate(ctx)
		return fmt.Sprintf("key: %s; sealed: %d; unreadable: %d", done.Key, done.Sealed, done.Unreadable), secretProblem(err)
	}})
	if err != nil {
		return err
	}
	return rotationForm.Answer(c, http.StatusOK, &rotation{Sealed: done.Sealed, Unreadable: done.Unreadable, Key: done.Key})
}
