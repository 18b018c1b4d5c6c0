package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// desktopHandlers serve what desktops request when they start: settings, icons and the hub itself.
type desktopHandlers struct {
	requests   *sessionRequests
	hub        *session.Hub
	apps       *appHandlers
	settings   *settings.Store
	budget     *httpio.Budget
	version    string
	providers  []string
	provider   string // the model backend of new sessions, or ""
	appsOrigin func(*http.Request) string
	crash      *crashHandler
	frameBytes int64
}

// Endpoints that desktops of the desktop dialect call when they start.

// appList are the apps on the desktop.
type appList struct {
	Apps                []appInfo `json:"apps"`
	OnboardingCompleted bool      `json:"onboardingCompleted"`
	Language            string    `json:"language"`
	appearance
}

// appearance is the look of a user's desktop, in values that only the desktop interprets.
type appearance struct {
	UserName    string `json:"userName,omitempty" wire:"max=100" doc:"The name to show for the user."`
	Wallpaper   string `json:"wallpaper,omitempty" wire:"max=2000" doc:"The name of a wallpaper, a colour or an address."`
	AccentColor string `json:"accentColor,omitempty" wire:"max=64"`
	IconSize    string `json:"iconSize,omitempty" wire:"max=16" doc:"Such as small, medium or large."`
}

type shortcutList struct {
	Shortcuts []wire.Shortcut `json:"shortcuts"`
}

type providerList struct {
	Providers []string `json:"providers"`
}

// desktopSettings are the settings of a user that desktops of the desktop dialect know.
type desktopSettings struct {
	Language            string `json:"language" wire:"max=35" doc:"A BCP 47 tag, such as en or ko."`
	OnboardingCompleted bool   `json:"onboardingCompleted" doc:"Whether the user has seen the introduction."`
	appearance
}

// desktopSettingsPatch changes the settings that it has values for.
type desktopSettingsPatch struct {
	Language            *string `json:"language,omitempty" wire:"min=1,max=35"`
	OnboardingCompleted *bool   `json:"onboardingCompleted,omitempty"`
	UserName            *string `json:"userName,omitempty" wire:"max=100"`
	Wallpaper           *string `json:"wallpaper,omitempty" wire:"max=2000"`
	AccentColor         *string `json:"accentColor,omitempty" wire:"max=64"`
	IconSize            *string `json:"iconSize,omitempty" wire:"max=16"`
}

// changes returns the changes of the patch by name of the setting, which is also that of the field.
func (p *desktopSettingsPatch) changes() ([]settings.Change, error) {
	var byName map[string]json.RawMessage
	if err := json.Unmarshal(settingsPatchForm().Append(nil, p), &byName); err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	changes := make([]settings.Change, 0, len(byName))
	for name, value := range byName {
		changes = append(changes, settings.Change{Name: name, Value: value})
	}
	return changes, nil
}

// desktopSettingsOf selects the settings that desktops of the desktop dialect know.
func desktopSettingsOf(v settings.Values) desktopSettings {
	return desktopSettings{
		Language: v.Text("language"), OnboardingCompleted: v.Bool("onboardingCompleted"),
		appearance: appearance{
			UserName: v.Text("userName"), Wallpaper: v.Text("wallpaper"), AccentColor: v.Text("accentColor"), IconSize: v.Text("iconSize"),
		},
	}
}

var (
	appsForm          = httpio.FormOf[appList]()
	shortcutsForm     = httpio.FormOf[shortcutList]()
	providersForm     = httpio.FormOf[providerList]()
	settingsForm      = httpio.FormOf[desktopSettings]()
	settingsPatchForm = httpio.FormOf[desktopSettingsPatch]()
)

func (o *desktopHandlers) getApps(c echo.Context) error {
	chosen, err := o.settingsOf(c)
	if err != nil {
		return err
	}
	return appsForm.Answer(c, http.StatusOK, &appList{
		Apps:                o.apps.appsOf(c.Request().Context(), access.Caller(c).User),
		OnboardingCompleted: chosen.OnboardingCompleted, Language: chosen.Language, appearance: chosen.appearance,
	})
}

func (o *desktopHandlers) getProviders(c echo.Context) error {
	return providersForm.Answer(c, http.StatusOK, &providerList{Providers: o.providers})
}

// getShortcuts responds with the icons of the current session. A user without a session has none.
func (o *desktopHandlers) getShortcuts(c echo.Context) error {
	info, err := o.requests.current(c, access.Viewer)
	if p := problem.Of(err); err != nil && (p.Code != wire.CodeSessionNotFound || c.QueryParam("sessionId") != "") {
		return err
	}
	if err != nil {
		return shortcutsForm.Answer(c, http.StatusOK, &shortcutList{})
	}
	var state wire.SessionState
	err = o.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) (err error) {
		state, err = h.Snapshot(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	key := fmt.Sprint("shortcuts ", info.ID, " ", state.LastMessageID)
	shared, done, err := o.budget.ShareEncoded(c.Request().Context(), access.Caller(c).User, key, func() *httpio.Encoded {
		return &httpio.Encoded{Body: shortcutsForm().Append(nil, &shortcutList{Shortcuts: state.Shortcuts})}
	})
	if err != nil {
		return err
	}
	defer done()
	return c.JSONBlob(http.StatusOK, shared.Body)
}

func (o *desktopHandlers) getSettings(c echo.Context) error {
	chosen, err := o.settingsOf(c)
	if err != nil {
		return err
	}
	return settingsForm.Answer(c, http.StatusOK, &chosen)
}

// patchSettings changes the settings that the request has values for. A pinned one is refused, the
// others take effect.
func (o *desktopHandlers) patchSettings(c echo.Context) error {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return problem.New(wire.CodeForbidden, "")
	}
	in, err := settingsPatchForm.Read(c, o.frameBytes)
	if err == nil && in == (desktopSettingsPatch{}) {
		err = problem.New(wire.CodeInvalidMessage, "Nothing to change was named.")
	}
	if err != nil {
		return err
	}
	changes, err := in.changes()
	if err != nil {
		return err
	}
	out, err := o.settings.Change(c.Request().Context(), settings.Subject{User: me.User}, changerOf(me), changes)
	if err != nil {
		return err
	}
	if len(out.Refused) > 0 { // the form has checked the values, so that they are pinned
		p := problem.New(wire.CodeForbidden, out.Refused[0].Detail)
		p.Field = out.Refused[0].Name
		return p
	}
	answer := desktopSettingsOf(out.Values)
	return settingsForm.Answer(c, http.StatusOK, &answer)
}

// settingsOf returns the caller's settings.
func (o *desktopHandlers) settingsOf(c echo.Context) (desktopSettings, error) {
	values, err := o.settings.Read(c.Request().Context(), settings.Subject{User: access.Caller(c).User})
	return desktopSettingsOf(values), err
}
