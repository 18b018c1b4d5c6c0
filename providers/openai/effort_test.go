package openai_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/openai"
)

func TestEffort(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[openai.Dialect]string{openai.Chat: `"high"`, openai.Responses: `{"effort":"high","summary":"auto"}`} {
		for _, effort := range []string{"", "high"} {
			synctest.Test(t, func(t *testing.T) {
				k := open(t, openai.Config{Dialect: dialect}, providers.Spec{Effort: effort})
				k.turn("/say yes")
				body, _ := k.request(0).(map[string]any)
				got := body[map[openai.Dialect]string{openai.Chat: "reasoning_effort", openai.Responses: "reasoning"}[dialect]]
				if effort == "" && dialect == openai.Chat && got != nil || effort != "" && !cmp.Equal(got, plain(t, want)) {
					t.Errorf("%s with effort %q: the request has %v, want %s only with an effort", dialect, effort, got, want)
				}
			})
		}
	}
}
