package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// All listings treat limit in the same way: default and maximum are described, a larger number
// means the maximum, and anything but a positive integer is refused.
func TestLimitsOfPages(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada", "admin")
	id := string(h.newSession("ada"))
	want := map[string]struct{ usual, most int }{
		"/api/sessions":                        {100, 100},
		"/api/sessions/{session}/events":       {1000, 1000},
		"/api/sessions/{session}/rows":         {200, 1000},
		"/api/sessions/{session}/messages":     {200, 1000},
		"/api/sessions/{session}/tasks":        {100, 500},
		"/api/tokens/keys":                     {100, 100},
		"/api/admin/audit":                     {100, 100},
		"/api/admin/sessions":                  {100, 1000},
		"/api/admin/sessions/{session}/events": {1000, 1000},
	}
	for path, methods := range describe(t, h).Paths {
		for _, p := range methods["get"].Parameters {
			if p.Name != "limit" {
				continue
			}
			limit, known := want[path]
			delete(want, path)
			doc := fmt.Sprintf("How many to show, at most %d: a larger number means as many.", limit.most)
			if !known || p.Schema.Default != limit.usual || p.Description != doc {
				t.Errorf("%s: %d when it is absent, %q; want %d, %q", path, p.Schema.Default, p.Description, limit.usual, doc)
			}
			page := strings.ReplaceAll(path, "{session}", id) + "?limit="
			for _, large := range []string{"1", "99999", "99999999999999999999"} {
				h.get(page+large, ada).wantStatus(http.StatusOK)
			}
			for _, bad := range []string{"0", "-1", "x", "1.5", "-99999999999999999999"} {
				got := h.get(page+bad, ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
				if text := fmt.Sprintf("Want a number of at least 1. A page has at most %d.", limit.most); got.Field != "limit" || got.Detail != text {
					t.Errorf("%s%s is refused with %+v, want the field limit and %q", page, bad, got, text)
				}
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("routes with a limit: got all but %v, want these too", want)
	}
}
