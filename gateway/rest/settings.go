package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// settingHandlers serve the settings of the catalogue.
type settingHandlers struct {
	settings   *settings.Store
	actions    *admin.Actions
	frameBytes int64
}

// settingInfo is a declared setting.
type settingInfo struct {
	Name      string            `json:"name"`
	Doc       string            `json:"doc" doc:"What the setting is, in one sentence."`
	Type      string            `json:"type" doc:"boolean, integer, number, text, choice or list."`
	Scope     wire.SettingScope `json:"scope" doc:"The narrowest scope in which the setting may have a value."`
	ChangedBy string            `json:"changedBy" doc:"user or admin."`
	Secret    bool              `json:"secret" doc:"Whether it is set with PUT /api/secrets/{name} and cannot be read."`
	Schema    json.RawMessage   `json:"schema" doc:"The JSON Schema of its values, with the range and the default."`
}

type settingCatalogue struct {
	Settings []settingInfo   `json:"settings"`
	Schema   json.RawMessage `json:"schema" doc:"The JSON Schema of an object with values by name."`
}

// settingState is a setting with its effective value.
type settingState struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value" doc:"The effective value."`
	Source  string          `json:"source" doc:"Where the value comes from: default, hub, user, session or pinned."`
	Pinned  string          `json:"pinned,omitempty" doc:"The flag or the file with which the operator has set the value; it cannot be changed."`
	Invalid *settingRefusal `json:"invalid,omitempty" doc:"A stored value is not valid and not used."`
}

// settingRefusal says why one value was refused.
type settingRefusal struct {
	Name   string `json:"name"`
	Code   string `json:"code" doc:"unknown, type, range, choice, scope, pinned, forbidden, secret or conflict."`
	Detail string `json:"detail" doc:"What is valid, as English text."`
}

type settingValues struct {
	Scope    wire.SettingScope `json:"scope"`
	Settings []settingState    `json:"settings"`
	Refused  []settingRefusal  `json:"refused,omitempty" doc:"The changes that had no effect; the others have taken effect."`
}

type settingChanges struct {
	Values wire.Object[string, json.RawMessage] `json:"values" doc:"The new values by name; null removes the value of the scope."`
	Was    wire.Object[string, json.RawMessage] `json:"was,omitempty" doc:"The effective values that the caller saw. A setting that has another value now is refused as a conflict."`
}

var (
	settingCatalogueForm = httpio.FormOf[settingCatalogue]()
	settingValuesForm    = httpio.FormOf[settingValues]()
	settingChangesForm   = httpio.FormOf[settingChanges]()
)

func (s *settingHandlers) getCatalogue(c echo.Context) error {
	all := s.settings.Catalogue()
	answer := settingCatalogue{Schema: settings.Schema(all)}
	for _, one := range all {
		answer.Settings = append(answer.Settings, settingInfo{
			Name: one.Name, Doc: one.Doc, Type: string(one.Type), Scope: one.Scope, ChangedBy: string(one.ChangedBy), Secret: one.Secret, Schema: one.Schema(),
		})
	}
	return settingCatalogueForm.Answer(c, http.StatusOK, &answer)
}

func (s *settingHandlers) getValues(c echo.Context) error {
	scope, of, err := subjectOf(c)
	if err != nil {
		return err
	}
	values, err := s.settings.Read(c.Request().Context(), of)
	if err != nil {
		return err
	}
	return s.answer(c, scope, settings.Outcome{Values: values})
}

// patchValues changes values. Changes for all users are admin actions.
func (s *settingHandlers) patchValues(c echo.Context) error {
	scope, of, err := subjectOf(c)
	if err != nil {
		return err
	}
	me := access.Caller(c)
	if me.Session != "" || !me.Has(auth.RoleUser) && scope == settings.ScopeUser || !me.Has(auth.RoleAdmin) && scope == settings.ScopeHub {
		return problem.New(wire.CodeForbidden, "")
	}
	in, err := settingChangesForm.Read(c, s.frameBytes)
	if err != nil {
		return err
	}
	changes := in.changes()
	if len(changes) == 0 {
		return problem.New(wire.CodeInvalidMessage, "Nothing to change was named.")
	}
	var out settings.Outcome
	change := func(ctx context.Context) (err error) {
		out, err = s.settings.Change(ctx, of, changerOf(me), changes)
		return err
	}
	if scope == settings.ScopeUser {
		err = change(c.Request().Context())
	} else {
		err = s.actions.PerformWithoutReason(c, admin.Action{Action: "settings.change", Target: "hub", Execute: func(ctx context.Context, _ string) (string, error) {
			err := change(ctx)
			return "names: " + strings.Join(changedNames(changes), ", "), err
		}})
	}
	if err != nil {
		return err
	}
	return s.answer(c, scope, out)
}

// subjectOf returns whose settings the query means: the caller's, or those of the hub.
func subjectOf(c echo.Context) (settings.Scope, settings.Subject, error) {
	switch scope := settings.Scope(c.QueryParam("scope")); scope {
	case "", settings.ScopeUser:
		return settings.ScopeUser, settings.Subject{User: access.Caller(c).User}, nil
	case settings.ScopeHub:
		return scope, settings.Subject{}, nil
	default:
		return "", settings.Subject{}, problem.Query("scope", "Want user or hub.")
	}
}

func (s *settingHandlers) answer(c echo.Context, scope settings.Scope, out settings.Outcome) error {
	answer := settingValues{Scope: scope}
	for _, v := range out.Values {
		state := settingState{Name: v.Setting.Name, Value: v.Value, Source: string(v.Source), Pinned: v.Pinned}
		if v.Invalid != nil {
			refused := refusalOf(v.Invalid)
			state.Invalid = &refused
		}
		answer.Settings = append(answer.Settings, state)
	}
	for _, r := range out.Refused {
		answer.Refused = append(answer.Refused, refusalOf(r))
	}
	return settingValuesForm.Answer(c, http.StatusOK, &answer)
}

func refusalOf(r *settings.Refusal) settingRefusal {
	return settingRefusal{Name: r.Name, Code: string(r.Code), Detail: r.Detail}
}

// changes returns the changes of a request.
func (in *settingChanges) changes() []settings.Change {
	changes := make([]settings.Change, 0, len(in.Values))
	for _, m := range in.Values {
		was, _ := in.Was.Get(m.Key)
		changes = append(changes, settings.Change{Name: m.Key, Value: m.Value, Was: was})
	}
	return changes
}

// changedNames returns the names of the settings that changes are about, for the audit log.
func changedNames(changes []settings.Change) []string {
	names := make([]string, 0, len(changes))
	for _, c := range changes {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	return names
}

// changerOf returns which settings a caller may change.
func changerOf(me auth.Identity) settings.Changer {
	if me.Has(auth.RoleAdmin) {
		return settings.ByAdmin
	}
	return settings.ByUser
}
