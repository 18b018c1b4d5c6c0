package openai_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
)

// An organisation that may not read summaries of reasoning gets its answers without them.
func TestRefusedSummariesAreLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, openai.Config{Dialect: openai.Responses}, providers.Spec{})
		k.fake.Next(fakemodel.Status(http.StatusBadRequest,
			`{"error":{"type":"invalid_request_error","message":"Your organization must be verified: unsupported value of 'reasoning.summary'"}}`))
		for i := range 2 {
			if e := k.turn("/say yes"); e.Outcome != providers.Completed {
				t.Fatalf("turn %d ended %s: %v, want %s", i, e.Outcome, e.Err, providers.Completed)
			}
		}
		if n := len(k.fake.Requests()); n != 3 {
			t.Errorf("there were %d requests, want 3, one of them refused", n)
		}
	})
}
