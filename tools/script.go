package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/runjs"
)

// Scripts runs JavaScript; [runjs.Runner] implements it.
type Scripts interface {
	// Run executes a script in a new process and waits for its end. What the script throws is a
	// [*runjs.ExceptionError].
	Run(ctx context.Context, s runjs.Script) (runjs.Result, error)
}

func scriptTools() []tool {
	return []tool{{
		name: "system:run_js", in: []string{ProfileAll, ProfileDefault, ProfileCode}, parallel: true, repeatable: true, use: with(runScript),
		about: "Compute something with JavaScript instead of guessing it. The result is the value of the last statement, or what the code returns; " +
			"await works. There are console and input, and no network, files, timers or modules. Nothing is kept for the next call.",
	}}
}

type scriptInput struct {
	Code    string          `json:"code" wire:"min=1,max=262144"`
	Input   json.RawMessage `json:"input,omitempty" jsonschema:"Data for the code, which sees it as input."`
	Timeout int             `json:"timeout,omitempty" jsonschema:"In milliseconds; 5000 when absent." wire:"min=0,max=60000"`
}

func runScript(ctx context.Context, u *use, in scriptInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		r, err := u.cfg.Scripts.Run(ctx, runjs.Script{Code: in.Code, Input: in.Input, Timeout: time.Duration(in.Timeout) * time.Millisecond})
		if e, ok := errors.AsType[*runjs.ExceptionError](err); ok {
			return fail(scriptText(e.Console, e.Text)), nil
		}
		if err != nil {
			return providers.ToolResult{}, err
		}
		value := "undefined"
		if len(r.Value) > 0 {
			value = string(r.Value)
		}
		return text(scriptText(r.Console, value)), nil
	})
}

// scriptText returns what the model reads of a run.
func scriptText(console []string, value string) string {
	if len(console) == 0 {
		return value
	}
	return "console:\n" + strings.Join(console, "\n") + "\n\nresult:\n" + value
}
