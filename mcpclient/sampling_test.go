package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
)

// A server that is allowed to asks the model of the call, as a request of its own or in the result of the call.
func TestServersAskTheModelOfTheCall(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"in a request": {"old"}, "in a result": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := program("test", flags...)
			server.Sampling = true
			b := setUp(t, []mcpclient.Server{server}, nil)
			var asked mcpclient.ModelRequest
			call := mcpclient.Call{Tool: "sample", Input: json.RawMessage(`{"count":1,"millis":0}`), Caller: "a", Complete: func(_ context.Context, r mcpclient.ModelRequest) (mcpclient.ModelAnswer, error) {
				asked = r
				return mcpclient.ModelAnswer{Text: "42", Model: "m"}, nil
			}}
			r, err := b.Call(t.Context(), ann, "test", call)
			if err != nil || r.Text != "42 by m" {
				t.Errorf("the server got %q, %v, want 42 by m", r.Text, err)
			}
			want := mcpclient.ModelMessage{Text: "What is 6 times 7?"}
			if asked.Server != "test" || asked.System != "Be brief." || asked.Number != 1 || len(asked.Messages) != 1 || asked.Messages[0] != want {
				t.Errorf("the model was asked %+v, want the first question of the server", asked)
			}
			call.Complete = func(context.Context, mcpclient.ModelRequest) (mcpclient.ModelAnswer, error) {
				return mcpclient.ModelAnswer{}, errors.New("the user says no")
			}
			if r, err := b.Call(t.Context(), ann, "test", call); err == nil && !strings.Contains(r.Text, "the user says no") {
				t.Errorf("after a refusal the call gives %q, want the reason", r.Text)
			}
		})
	}
}

func TestServersAskTheModelOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	asked := 0
	call := mcpclient.Call{Tool: "sample", Input: json.RawMessage(`{"count":11,"millis":0}`), Caller: "a", Complete: func(context.Context, mcpclient.ModelRequest) (mcpclient.ModelAnswer, error) {
		asked++
		return mcpclient.ModelAnswer{Text: "42"}, nil
	}}
	b := setUp(t, []mcpclient.Server{program("test", "old")}, nil)
	if r, err := b.Call(t.Context(), ann, "test", call); err == nil && !r.IsError || asked != 0 {
		t.Errorf("a server that may not ask the model gets %q, %v after %d questions, want an error and none", r.Text, err, asked)
	}
	server := program("test", "old")
	server.Sampling = true
	b = setUp(t, []mcpclient.Server{server}, nil)
	if r, err := b.Call(t.Context(), ann, "test", call); err != nil || !r.IsError || !strings.Contains(r.Text, "at most 10") || asked != 10 {
		t.Errorf("a server that asks 11 times gets %+v, %v after %d answers, want an error after 10", r, err, asked)
	}
	call.Complete = nil
	if r, err := b.Call(t.Context(), ann, "test", call); err == nil && !r.IsError {
		t.Errorf("without a model the call gives %+v, want an error", r)
	}
}
