package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Compiler compiles and checks apps; [build.Runner] implements it.
type Compiler interface {
	// Compile returns the page of an app. What is wrong with the source is a [*build.Error].
	Compile(ctx context.Context, s build.Source) ([]byte, error)
	// Check looks for errors in a source, which are in the report. The error says that it could not look.
	Check(ctx context.Context, s build.Source) (build.Report, error)
}

// Apps are the apps of users, and what agents need to make new ones.
type Apps struct {
	Store *apps.Store
	// DataChanged, unless nil, is called when an agent has written a file of an app's data.
	DataChanged func(ctx context.Context, user, app, file string)
	Market      *apps.Market
	Compiler    Compiler
}

// appMakers are the profiles with tools for apps.
var appMakers = []string{ProfileAll, ProfileDefault, ProfileApp}

func userAppTools() []tool {
	return []tool{
		{
			name: "apps:list", in: appMakers, parallel: true, repeatable: true, use: with(listApps),
			about: "List the user's apps, which are on all their desktops. Open one with window_create: renderer iframe, content its url.",
		},
		{
			name: "apps:load_skill", in: appMakers, parallel: true, repeatable: true, use: with(loadAppSkill),
			about: "Read how to use an app: its state, its commands and its files.",
		},
		{
			name: "apps:read_config", in: appMakers, personal: true, parallel: true, repeatable: true, use: with(readConfig),
			about: "Read a file of an app's data, or list them without a filename. It is what the app itself stores.",
		},
		{
			name: "apps:write_config", in: appMakers, personal: true, covers: covering(writeConfigCovers), repeatable: true, use: with(writeConfig),
			about: "Write a file of an app's data. An open app is told, and reads it again.",
		},
		{
			name: "apps:set_app_badge", in: appMakers, repeatable: true, use: with(setBadge),
			about: "Show a count on the icon of an app; 0 removes it.",
		},
		{
			name: "apps:market_list", in: appMakers, parallel: true, repeatable: true, use: with(listMarket),
			about: "List the apps that can be installed with apps_market_get.",
		},
		{
			name: "apps:market_get", in: appMakers, personal: true, repeatable: true, use: with(installApp),
			about: "Install an app of the market, or its present version. Prefer it to writing the same app.",
		},
		{
			name: "apps:market_delete", in: appMakers, personal: true, use: guarded(deleteApp, askToDelete),
			about: "Delete an app of the user with its data. The user is asked before.",
		},
	}
}

type appInput struct {
	AppID string `json:"appId" jsonschema:"Such as counter." wire:"min=1,max=64"`
}

type readConfigInput struct {
	AppID    string `json:"appId" wire:"min=1,max=64"`
	Filename string `json:"filename,omitempty" jsonschema:"Lists the files when absent." wire:"max=1024"`
}

type writeConfigInput struct {
	AppID    string          `json:"appId" wire:"min=1,max=64"`
	Filename string          `json:"filename" wire:"min=1,max=1024"`
	Content  json.RawMessage `json:"content" jsonschema:"A text, or an object that is written as JSON."`
}

// refine limits the content to what can be written.
func (writeConfigInput) refine(s *jsonschema.Schema) {
	s.Properties["content"].Types = []string{"string", "object", "array"}
}

type badgeInput struct {
	AppID wire.AppID `json:"appId"`
	Count uint64     `json:"count" wire:"max=1000000"`
}

// appLine is an entry in the result of apps:list and apps:market_list.
type appLine struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
	HasSkill    bool   `json:"hasSkill"`
	AppProtocol bool   `json:"appProtocol,omitempty"`
	Hidden      bool   `json:"hidden,omitempty"`
	Installed   bool   `json:"installed,omitempty"`
	URL         string `json:"url,omitempty"`
}

func lineOf(id string, m apps.Manifest, hasSkill bool) appLine {
	return appLine{ID: id, Name: m.Name, Description: m.Description, Version: m.Version, HasSkill: hasSkill, AppProtocol: m.AppProtocol, Hidden: m.Hidden}
}

// appURL returns the address of an app for the content of a window.
func appURL(id string) string { return appsPath + id + "/" + apps.PageFile }

// appsPath begins the addresses of apps.
const appsPath = "/api/apps/"

// appCall is a call of a tool for the user's apps and their sandboxes.
type appCall struct{ *use }

// appError returns the error for the agent. Errors of the operating system may contain paths of the
// host, so they are only logged.
func (u appCall) appError(what string, err error) error {
	for _, plain := range []error{
		apps.ErrID, apps.ErrManifest, apps.ErrNotFound, apps.ErrTooLarge, apps.ErrFull, files.ErrName, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, plain) {
			return err
		}
	}
	u.cfg.Logger.Warn("an app could not be used", "session", u.Session, "app", truncate(what, 100), "error", err)
	return fmt.Errorf("%q cannot be used now; try again later", truncate(what, 100))
}

// installed returns the apps of the user. One that cannot be read is logged.
func (e *Executor) installed(ctx context.Context, c Caller) []apps.App {
	all, err := e.cfg.Apps.Store.List(ctx, c.User)
	if err != nil {
		e.cfg.Logger.Warn("apps of a user could not be listed", "user", c.User, "error", err)
	}
	return all
}

// maxAppsLine bounds the apps that the system prompt names.
const maxAppsLine = 50

// appsLine lists the user's apps for the system prompt.
func (e *Executor) appsLine(ctx context.Context, c Caller) string {
	if e.cfg.Apps == nil || c.User == "" {
		return ""
	}
	var names []string
	for _, a := range e.installed(ctx, c) {
		if !a.Hidden {
			names = append(names, a.ID+" ("+truncate(a.Name, 40)+")")
		}
	}
	return strings.Join(names[:min(len(names), maxAppsLine)], ", ")
}

func listApps(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		lines := []appLine{}
		for _, a := range u.installed(ctx, u.Caller) {
			line := lineOf(a.ID, a.Manifest, a.HasSkill)
			line.URL = appURL(a.ID)
			lines = append(lines, line)
		}
		return asJSON(lines), nil
	})
}

func loadAppSkill(ctx context.Context, u *use, in appInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		b, err := u.cfg.Apps.Store.Get(ctx, u.User, in.AppID)
		if errors.Is(err, apps.ErrNotFound) {
			return providers.ToolResult{}, fmt.Errorf("there is no app %q; the apps are: %s", in.AppID, appCall{u}.appNames(ctx))
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		open := fmt.Sprintf("Open it with window_create, renderer iframe, content %s. ", appURL(in.AppID))
		if b.Skill() == "" {
			return text(open + "The app has no text for agents; window_app_query with the state key manifest asks it what it can do."), nil
		}
		return text(open + "\n\n" + b.Skill()), nil
	})
}

// appNames lists the ids of the user's apps.
func (u appCall) appNames(ctx context.Context) string {
	var ids []string
	for _, a := range u.installed(ctx, u.Caller) {
		ids = append(ids, a.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

func readConfig(ctx context.Context, u *use, in readConfigInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if in.Filename == "" {
			names, err := u.cfg.Apps.Store.ListData(ctx, u.User, in.AppID)
			if err != nil {
				return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
			}
			return asJSON(append([]string{}, names...)), nil
		}
		data, err := u.cfg.Apps.Store.ReadData(ctx, u.User, in.AppID, in.Filename)
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		if !utf8.Valid(data) {
			return failf("%q is not text (%d bytes).", in.Filename, len(data)), nil
		}
		return outsideFile(dataSource(in.AppID), text(string(data))), nil
	})
}

// dataSource names the data of an app as a source: it is what the page of the app stores and shows.
func dataSource(app string) string { return "the data of the app " + truncate(app, 64) }

// writeConfigCovers says that data of an app is no reason to ask before other data of that app is written.
func writeConfigCovers(_ *use, in writeConfigInput) coverage {
	c := appData(in.AppID)
	c.own = dataSource(in.AppID)
	return c
}

func writeConfig(ctx context.Context, u *use, in writeConfigInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		data := contentBytes(in.Content)
		if err := u.cfg.Apps.Store.WriteData(ctx, u.User, in.AppID, in.Filename, data); err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		if u.cfg.Apps.DataChanged != nil {
			u.cfg.Apps.DataChanged(ctx, u.User, in.AppID, in.Filename)
		}
		appCall{u}.refreshApps(ctx)
		return textf("Wrote %d bytes to %q of the app %s.", len(data), in.Filename, in.AppID), nil
	})
}

// contentBytes returns the text of a JSON string, or other JSON as it is.
func contentBytes(content json.RawMessage) []byte {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return []byte(s)
	}
	return content
}

// refreshApps makes the desktops of this session read apps and their data again at once. The store announces apps to all
// desktops of the user, within a second. It does not affect the call if the session does not take it.
func (u appCall) refreshApps(ctx context.Context) {
	id := wire.MessageID(u.id("apps"))
	err := u.Desktop.Mailbox.Submit(ctx, u.User, wire.Message{
		Session: u.Session, ID: id, Data: wire.Emit{MessageID: id, Actions: []wire.Action{wire.RefreshApps{}}, MonitorID: u.Monitor},
	})
	if err != nil {
		u.cfg.Logger.Warn("desktop not told of changed apps", "session", u.Session, "error", err)
	}
}

func setBadge(ctx context.Context, u *use, in badgeInput) providers.ToolResult {
	return u.act(ctx, func(*desktop.State) Plan {
		if err := apps.CheckID(string(in.AppID)); err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		return Plan{
			Actions: []wire.Action{wire.AppBadge{AppID: in.AppID, Count: in.Count, ActionMeta: u.meta()}},
			Result:  textf("The icon of %s shows %d.", in.AppID, in.Count),
		}
	})
}

func listMarket(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		offers, err := u.cfg.Apps.Market.List()
		if err != nil {
			u.cfg.Logger.Warn("apps of the market could not be listed", "error", err)
		}
		has := map[string]bool{}
		for _, a := range u.installed(ctx, u.Caller) {
			has[a.ID] = true
		}
		lines := []appLine{}
		for _, o := range offers {
			line := lineOf(o.ID, o.Manifest, o.HasSkill)
			line.Installed = has[o.ID]
			lines = append(lines, line)
		}
		return asJSON(lines), nil
	})
}

func installApp(ctx context.Context, u *use, in appInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		b, err := u.cfg.Apps.Market.Get(in.AppID)
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		if b.Page() == nil {
			page, err := u.cfg.Apps.Compiler.Compile(ctx, build.Source{Files: b.Files, Title: b.Manifest.Name})
			if err != nil {
				return providers.ToolResult{}, err
			}
			b = b.WithPage(page)
		}
		if err := u.cfg.Apps.Store.Deploy(ctx, u.User, in.AppID, b); err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		appCall{u}.refreshApps(ctx)
		return text(deployed(in.AppID, b.Manifest.Hidden)), nil
	})
}

// deployed says that an app is there, and how to open it.
func deployed(id string, hidden bool) string {
	icon := " Its icon is on the user's desktops."
	if hidden {
		icon = ""
	}
	return fmt.Sprintf("The app %s is installed.%s Open it with window_create, renderer iframe, content %s.", id, icon, appURL(id))
}

func askToDelete(ctx context.Context, u *use, in appInput) (*question, error) {
	all := u.installed(ctx, u.Caller)
	i := slices.IndexFunc(all, func(a apps.App) bool { return a.ID == in.AppID })
	if i < 0 {
		return nil, fmt.Errorf("there is no app %q; the apps are: %s", truncate(in.AppID, 100), appCall{u}.appNames(ctx))
	}
	return &question{
		title: "Delete an app?", yes: "Delete", topic: "app_delete",
		message: fmt.Sprintf("%s (%s) and its data would be gone, on all your desktops.", visible(all[i].Name), in.AppID),
	}, nil
}

func deleteApp(ctx context.Context, u *use, in appInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if err := u.cfg.Apps.Store.Remove(ctx, u.User, in.AppID); err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		appCall{u}.refreshApps(ctx)
		return textf("Deleted the app %s.", in.AppID), nil
	})
}
