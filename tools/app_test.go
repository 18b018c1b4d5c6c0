package tools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

// withApp returns a bench with an iframe window and a text window.
func withApp(t *testing.T) *bench {
	t.Helper()
	b := setUp(t)
	b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return wire.RenderingFeedback{}, false, nil }
	b.must("window_create", `{"windowId":"app","title":"","content":{"renderer":"iframe","content":"/apps/x"}}`)
	b.must("window_create", `{"windowId":"note","title":"","content":{"renderer":"text","content":"x"}}`)
	b.desktop.begun, b.desktop.ended = nil, nil
	return b
}

func TestUnreachableApps(t *testing.T) {
	t.Parallel()
	b := withApp(t)
	b.desktop.app = func(wire.AppRequest) (wire.AppResponse, error) {
		return nil, errors.New("the app in the window did not become ready")
	}
	for input, says := range map[string]string{
		`{"windowId":"none","stateKey":"x"}`: `no window "none"`,
		`{"windowId":"note","stateKey":"x"}`: "shows text and has no app",
		`{"windowId":"app","stateKey":"x"}`:  "did not become ready",
		`{"windowId":"app","stateKey":""}`:   "stateKey",
		`{"windowId":"app"}`:                 "stateKey",
	} {
		if r := b.call("window_app_query", input); !r.IsError || !strings.Contains(r.Text, says) {
			t.Errorf("query %s: %+v, want an error with %q", input, r, says)
		}
	}
	for input, says := range map[string]string{
		`{"windowId":"none","command":"x"}`: `no window "none"`,
		`{"windowId":"note","command":"x"}`: "shows text and has no app",
		`{"windowId":"app","command":"x"}`:  "did not become ready",
	} {
		if r := b.call("window_app_command", input); !r.IsError || !strings.Contains(r.Text, says) {
			t.Errorf("command %s: %+v, want an error with %q", input, r, says)
		}
	}
	if len(b.desktop.requests) != 2 {
		t.Errorf("%d requests reached the session, want none", len(b.desktop.requests))
	}
}

func TestAppsAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool, input string
		request     wire.AppRequest
		answer      wire.AppResponse
		err         error
		says        string
		isError     bool
	}{
		"manifest": {
			tool: "window_app_query", input: `{"windowId":"app","stateKey":"manifest"}`, request: wire.AppManifestRequest{},
			answer: wire.AppManifestResponse{Manifest: &wire.AppManifest{AppID: "chess", Name: "Chess"}},
			says:   `{"appId":"chess","name":"Chess"}`,
		},
		"no manifest": {
			tool: "window_app_query", input: `{"windowId":"app","stateKey":"manifest"}`, request: wire.AppManifestRequest{},
			answer: wire.AppManifestResponse{}, says: "no manifest", isError: true,
		},
		"manifest error": {
			tool: "window_app_query", input: `{"windowId":"app","stateKey":"manifest"}`, request: wire.AppManifestRequest{},
			answer: wire.AppManifestResponse{Error: "not today"}, says: "The app says: not today.", isError: true,
		},
		"manifest timeout": {
			tool: "window_app_query", input: `{"windowId":"app","stateKey":"manifest"}`, request: wire.AppManifestRequest{},
			err: errors.New("the app did not answer within 5s"), says: "did not answer", isError: true,
		},
		"state": {
			tool: "window_app_query", input: `{"windowId":"app","stateKey":"board"}`, request: wire.AppQueryRequest{StateKey: "board"},
			answer: wire.AppQueryResponse{Data: json.RawMessage(`{"turn":"white"}`)}, says: `{"turn":"white"}`,
		},
		"command": {
			tool: "window_app_command", input: `{"windowId":"monitor-0/app","command":"move","params":{"to":"e4"}}`,
			request: wire.AppCommandRequest{Command: "move", Params: json.RawMessage(`{"to":"e4"}`)},
			answer:  wire.AppCommandResponse{Result: json.RawMessage(`true`)}, says: "true",
		},
		"command without a result": {
			tool: "window_app_command", input: `{"windowId":"app","command":"move"}`, request: wire.AppCommandRequest{Command: "move"},
			answer: wire.AppCommandResponse{}, says: "returned nothing",
		},
		"command error": {
			tool: "window_app_command", input: `{"windowId":"app","command":"move"}`, request: wire.AppCommandRequest{Command: "move"},
			answer: wire.AppCommandResponse{Error: "illegal move"}, says: "illegal move", isError: true,
		},
		"command timeout": {
			tool: "window_app_command", input: `{"windowId":"app","command":"move"}`, request: wire.AppCommandRequest{Command: "move"},
			err: errors.New("the app did not answer within 5s"), says: "did not answer", isError: true,
		},
		"nothing": {
			tool: "window_app_command", input: `{"windowId":"app","command":"move"}`, request: wire.AppCommandRequest{Command: "move"},
			says: "something else", isError: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withApp(t)
			b.desktop.app = func(wire.AppRequest) (wire.AppResponse, error) { return tt.answer, tt.err }
			r := b.call(tt.tool, tt.input)
			if r.IsError != tt.isError || !strings.Contains(r.Text, tt.says) {
				t.Errorf("result %+v, want error %v with %q", r, tt.isError, tt.says)
			}
			if diff := cmp.Diff([]wire.AppRequest{tt.request}, b.desktop.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			// The effect of a command is unknown after a crash.
			if got := b.desktop.begun[0].call.Repeatable; got != (tt.tool == "window_app_query") || len(b.desktop.ended) != 1 {
				t.Errorf("repeatable is %v, %d ends, want %v and 1", got, len(b.desktop.ended), tt.tool == "window_app_query")
			}
		})
	}
}
