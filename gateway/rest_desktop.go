package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// What desktops of the other dialect ask for when they start.

// appList are the apps on the desktop, of which there are none yet.
type appList struct {
	Apps                []appInfo `json:"apps"`
	OnboardingCompleted bool      `json:"onboardingCompleted"`
	Language            string    `json:"language"`
}

// appInfo is an app on the desktop.
type appInfo struct {
	ID   wire.AppID `json:"id"`
	Name string     `json:"name"`
}

// shortcutList are the icons on the desktop.
type shortcutList struct {
	Shortcuts []wire.Shortcut `json:"shortcuts"`
}

// providerList are who can think in a session.
type providerList struct {
	Providers []string `json:"providers"`
}

// settings are what a user chose, the same in all sessions.
type settings struct {
	Language            string `json:"language" wire:"max=35" doc:"A BCP 47 tag, such as en or ko."`
	OnboardingCompleted bool   `json:"onboardingCompleted" doc:"Whether the user has seen the introduction."`
}

// settingsPatch changes some of the settings.
type settingsPatch struct {
	Language            *string `json:"language,omitempty" wire:"min=1,max=35"`
	OnboardingCompleted *bool   `json:"onboardingCompleted,omitempty"`
}

var (
	appsForm          = formOf[appList]()
	shortcutsForm     = formOf[shortcutList]()
	providersForm     = formOf[providerList]()
	settingsForm      = formOf[settings]()
	settingsPatchForm = formOf[settingsPatch]()
)

// settingsCollection is where the store has the settings of users, by name.
const settingsCollection = "settings"

func (s *Server) getApps(c echo.Context) error {
	chosen, _, err := s.settingsOf(c)
	if err != nil {
		return err
	}
	return appsForm.answer(c, http.StatusOK, &appList{OnboardingCompleted: chosen.OnboardingCompleted, Language: chosen.Language})
}

func (s *Server) getProviders(c echo.Context) error {
	return providersForm.answer(c, http.StatusOK, &providerList{Providers: s.minds})
}

// getShortcuts shows the icons of the current session. A user without one has
// none.
func (s *Server) getShortcuts(c echo.Context) error {
	info, err := s.current(c, accessViewer)
	if p := problemOf(err, c.Request()); err != nil && (p.Code != wire.CodeSessionNotFound || c.QueryParam("sessionId") != "") {
		return err
	}
	if err != nil {
		return shortcutsForm.answer(c, http.StatusOK, &shortcutList{})
	}
	var state wire.SessionState
	err = s.visit(c, info, func(ctx context.Context, room *session.Room) (err error) {
		state, err = room.Snapshot(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	key := fmt.Sprint("shortcuts ", info.ID, " ", state.LastMessageID)
	shared, done, err := s.bulk.share(c.Request().Context(), who(c).User, key, func() *encoded {
		return &encoded{body: shortcutsForm().Append(nil, &shortcutList{Shortcuts: state.Shortcuts})}
	})
	if err != nil {
		return err
	}
	defer done()
	return c.JSONBlob(http.StatusOK, shared.body)
}

func (s *Server) getSettings(c echo.Context) error {
	chosen, _, err := s.settingsOf(c)
	if err != nil {
		return err
	}
	return settingsForm.answer(c, http.StatusOK, &chosen)
}

// patchSettings changes what the request names. Two that change something at the
// same time both get their way.
func (s *Server) patchSettings(c echo.Context) error {
	if me := who(c); !me.Has(auth.RoleUser) || me.Session != "" {
		return problem(wire.CodeForbidden, "")
	}
	in, err := settingsPatchForm.read(s, c)
	if err != nil {
		return err
	}
	if in == (settingsPatch{}) {
		return problem(wire.CodeInvalidMessage, "Nothing to change was named.")
	}
	for {
		chosen, version, err := s.settingsOf(c)
		if err != nil {
			return err
		}
		if in.Language != nil {
			chosen.Language = *in.Language
		}
		if in.OnboardingCompleted != nil {
			chosen.OnboardingCompleted = *in.OnboardingCompleted
		}
		_, err = s.store.Put(c.Request().Context(), store.Document{
			Collection: settingsCollection, Name: who(c).User, Version: version, Data: settingsForm().Append(nil, &chosen),
		})
		if err == nil {
			return settingsForm.answer(c, http.StatusOK, &chosen)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// settingsOf are the caller's settings and their version in the store.
func (s *Server) settingsOf(c echo.Context) (settings, uint64, error) {
	chosen := settings{Language: "en", OnboardingCompleted: true}
	doc, err := s.store.Get(c.Request().Context(), settingsCollection, who(c).User)
	if errors.Is(err, store.ErrNotFound) {
		return chosen, 0, nil
	}
	if err != nil {
		return settings{}, 0, err
	}
	if chosen, err = settingsForm().DecodeOwn(doc.Data); err != nil {
		return settings{}, 0, errors.New("settings of a user cannot be read")
	}
	return chosen, doc.Version, nil
}
