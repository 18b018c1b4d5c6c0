package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/runjs"
)

// scripts is a fake of a runner, which answers by the code.
type scripts struct{ got []runjs.Script }

func (s *scripts) Run(_ context.Context, r runjs.Script) (runjs.Result, error) {
	s.got = append(s.got, r)
	switch r.Code {
	case "throw":
		return runjs.Result{}, &runjs.ExceptionError{Text: "Error: no", Console: []string{"before"}}
	case "endless":
		return runjs.Result{}, runjs.ErrTimeout
	case "nothing":
		return runjs.Result{}, nil
	}
	return runjs.Result{Value: json.RawMessage(`[1]`), Console: []string{"a", "b"}}, nil
}

func TestRunJS(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for name, tt := range map[string]struct {
		input, want string
		isError     bool
	}{
		"a value":      {`{"code":"x","input":{"n":[1]},"timeout":1500}`, "console:\na\nb\n\nresult:\n[1]", false},
		"nothing":      {`{"code":"nothing"}`, "undefined", false},
		"an exception": {`{"code":"throw"}`, "console:\nbefore\n\nresult:\nError: no", true},
		"a timeout":    {`{"code":"endless"}`, "The code did not end in time.", true},
		"no code":      {`{"code":""}`, "code", true},
		"too long":     {`{"code":"x","timeout":60001}`, "timeout", true},
	} {
		if r := b.callAs(b.worker(), "system_run_js", tt.input); !strings.Contains(r.Text, tt.want) || r.IsError != tt.isError {
			t.Errorf("%s gives %q, error %v, want %q, error %v", name, r.Text, r.IsError, tt.want, tt.isError)
		}
	}
	found := false
	for _, s := range b.scripts.got {
		found = found || string(s.Input) == `{"n":[1]}` && s.Timeout == 1500*time.Millisecond
	}
	if !found {
		t.Errorf("ran %+v, want one with the input and the timeout", b.scripts.got)
	}
}
