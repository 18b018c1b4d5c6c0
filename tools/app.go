package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func appTools() []tool {
	return []tool{
		{
			name: "window:app_query", in: everyone, parallel: true, repeatable: true, use: with(queryApp),
			about: `Ask the app in an html or iframe window for a part of its state. The state key "manifest" tells what it has and can do.`,
		},
		{
			name: "window:app_command", in: everyone, covers: covering(commandCovers), use: with(commandApp),
			about: "Have the app in an html or iframe window do something. Its manifest lists the commands.",
		},
	}
}

type queryInput struct {
	WindowID wire.WindowID `json:"windowId"`
	StateKey string        `json:"stateKey" wire:"min=1,max=500"`
}

type commandInput struct {
	WindowID wire.WindowID   `json:"windowId"`
	Command  string          `json:"command" wire:"min=1,max=500"`
	Params   json.RawMessage `json:"params,omitempty" jsonschema:"What the command takes, see the manifest."`
}

// app sends a request to the app in a window, after checking that the window exists and shows
// a page.
func (u windowCall) app(ctx context.Context, id wire.WindowID, r wire.AppRequest) (wire.AppResponse, error) {
	var missing error
	err := u.Desktop.Steps.View(ctx, func(s *desktop.State) {
		w, err := u.find(s, id)
		if err == nil {
			if kind, _ := u.shown(w.Content); kind != "iframe" && kind != "html" {
				err = fmt.Errorf("window %q shows %s and has no app", w.WindowID, kind)
			}
		}
		missing = err
	})
	if err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	return u.Desktop.Tabs.App(ctx, u.Caller, u.raw(id), r)
}

func queryApp(ctx context.Context, u *use, in queryInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var request wire.AppRequest = wire.AppQueryRequest{StateKey: in.StateKey}
		if in.StateKey == "manifest" {
			request = wire.AppManifestRequest{}
		}
		answer, err := windowCall{u}.app(ctx, in.WindowID, request)
		if err != nil {
			return providers.ToolResult{}, err
		}
		return windowCall{u}.appResult(in.WindowID, answer)
	})
}

func commandApp(ctx context.Context, u *use, in commandInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		answer, err := windowCall{u}.app(ctx, in.WindowID, wire.AppCommandRequest{Command: in.Command, Params: in.Params})
		if err != nil {
			return providers.ToolResult{}, err
		}
		return windowCall{u}.appResult(in.WindowID, answer)
	})
}

// appResult converts the answer of an app to a tool result; an error reported by the app is
// an error result. Both are data of the page.
func (u windowCall) appResult(window wire.WindowID, answer wire.AppResponse) (providers.ToolResult, error) {
	var data json.RawMessage
	var wrong string
	switch a := answer.(type) {
	case wire.AppManifestResponse:
		if wrong = a.Error; wrong == "" && a.Manifest == nil {
			wrong = "it has no manifest"
		}
		if a.Manifest != nil {
			data = u.forms.manifest.Append(nil, a.Manifest)
		}
	case wire.AppQueryResponse:
		data, wrong = a.Data, a.Error
	case wire.AppCommandResponse:
		data, wrong = a.Result, a.Error
	default:
		wrong = "it answered something else"
	}
	if wrong != "" {
		return pageData(window, failf("The app says: %s.", strings.TrimSuffix(truncate(wrong, 2000), "."))), nil
	}
	if len(data) == 0 {
		return text("Done; the app returned nothing."), nil
	}
	return pageData(window, text(string(data))), nil
}

// pageData marks a result as data of the page in a window. It gets no tag, because programs expect the JSON of
// the page.
func pageData(window wire.WindowID, r providers.ToolResult) providers.ToolResult {
	r.Text, r.Source = policies.Neutralize(r.Text), PageSource(window)
	return r
}

// PageSource names the page in a window as a source of data.
func PageSource(window wire.WindowID) string {
	return "the page in the window " + truncate(string(window), sourceRunes/2)
}

// commandCovers says what the answer to the question covers whether a page may be commanded: all commands to
// it.
func commandCovers(_ *use, in commandInput) coverage {
	return coverage{scope: "command " + string(in.WindowID), own: PageSource(in.WindowID)}
}
