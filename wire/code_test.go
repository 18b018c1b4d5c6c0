package wire_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	seen := map[string]wire.Code{}
	var last wire.Code
	for _, c := range wire.Codes() {
		if c.Code <= last {
			t.Errorf("codes: got %d after %d, want ascending order", c.Code, last)
		}
		last = c.Code
		if other, ok := seen[c.Name]; ok || !strings.HasPrefix(c.Name, "WS_") {
			t.Errorf("name of %d: got %s, want a unique one with WS_ (also the name of %d)", c.Code, c.Name, other)
		}
		seen[c.Name] = c.Code
		if http.StatusText(c.Status) == "" || c.Status < 400 {
			t.Errorf("status of %s: got %d, want a known one from 400", c.Name, c.Status)
		}
		if c.Message == "" || c.Code.Info() != c || c.Code.String() != c.Name {
			t.Errorf("info of code %d: got %+v named %s, want %+v with a message", c.Code, c.Code.Info(), c.Code, c)
		}
		if c.Close != 0 && c.Close.Info().Meaning == wire.CloseCode(1).Info().Meaning {
			t.Errorf("%s closes with %d, which is not in the table", c.Name, c.Close)
		}
	}
	// The numbers that clients of the first protocol know.
	for code, name := range map[wire.Code]string{
		1001: "WS_CONNECTION_FAILED", 1002: "WS_CONNECTION_TIMEOUT", 1003: "WS_INVALID_MESSAGE",
		2001: "WS_AUTH_REQUIRED", 2002: "WS_AUTH_FAILED", 2003: "WS_TOKEN_EXPIRED",
		3001: "WS_SESSION_NOT_FOUND", 3002: "WS_SESSION_EXPIRED", 3003: "WS_SESSION_INVALID_STATE",
		4001: "WS_EXECUTION_FAILED", 4002: "WS_TODO_FAILED", 4003: "WS_TOOL_TIMEOUT",
		5001: "WS_HITL_TIMEOUT", 5002: "WS_HITL_INVALID_RESPONSE", 5003: "WS_HITL_REQUEST_EXPIRED",
		1004: "WS_RATE_LIMITED", 1005: "WS_MESSAGE_TOO_LARGE", 2004: "WS_FORBIDDEN", 3004: "WS_QUEUE_FULL",
		3005: "WS_MONITOR_LIMIT", 3006: "WS_AGENT_LIMIT", 3007: "WS_STORE_UNAVAILABLE",
		4004: "WS_BUDGET_EXCEEDED", 4005: "WS_PROVIDER_UNAVAILABLE",
	} {
		if code.String() != name {
			t.Errorf("%d is %s, want %s", code, code, name)
		}
	}
}

func TestUnknownCodesAreInternalErrors(t *testing.T) {
	t.Parallel()
	info := wire.Code(9999).Info()
	if info.Code != 9999 || info.Status != http.StatusInternalServerError {
		t.Errorf("info of code 9999: got %+v, want code 9999 with status %d", info, http.StatusInternalServerError)
	}
	if got := wire.Code(9999).String(); got != "WS_ERROR_9999" {
		t.Errorf("name of code 9999: got %s, want WS_ERROR_9999", got)
	}
}

func TestOneTableForEventsAndProblems(t *testing.T) {
	t.Parallel()
	for _, c := range wire.Codes() {
		n, p := c.Code.Notice(""), c.Code.Problem("")
		if n.Code != p.Code || n.Name != p.Name || n.Recoverable != p.Recoverable || n.SuggestedAction != p.SuggestedAction ||
			n.Message != p.Detail || p.Status != c.Status || p.Title != http.StatusText(c.Status) {
			t.Errorf("event and problem of %s: got %+v and %+v, want the same values", c.Name, n, p)
		}
	}
	if n, p := wire.CodeForbidden.Notice("no"), wire.CodeForbidden.Problem("no"); n.Message != "no" || p.Detail != "no" {
		t.Errorf("event and problem with a text: got %+v and %+v, want the text no in both", n, p)
	}
}

func TestErrorsBecomeEvents(t *testing.T) {
	t.Parallel()
	_, err := wire.Native{}.DecodeMessage([]byte(`{"type":"USER_MESSAGE","message_id":"m1","data":{"content":1}}`))
	n := refused(t, err).Notice()
	if n.Code != wire.CodeInvalidMessage || n.MessageID != "m1" || n.Field != "data.content" ||
		n.Message != "data.content: want a string, got a number" || n.SuggestedAction != wire.ActionFixMessage || !n.Recoverable {
		t.Errorf("event of a decoding error: got %+v, want a recoverable one about data.content of m1", n)
	}
}

func TestCloseCodes(t *testing.T) {
	t.Parallel()
	want := map[wire.CloseCode]wire.Reconnect{
		1000: wire.ReconnectNever, 1001: wire.ReconnectNever,
		1003: wire.ReconnectBackoff, 1007: wire.ReconnectBackoff, 1009: wire.ReconnectBackoff, 1012: wire.ReconnectBackoff,
		4400: wire.ReconnectNever,
		4401: wire.ReconnectUser, 4403: wire.ReconnectUser, 4404: wire.ReconnectUser, 4410: wire.ReconnectUser, 4411: wire.ReconnectUser, 4412: wire.ReconnectUser,
		4408: wire.ReconnectNow, 4409: wire.ReconnectNow,
		4429: wire.ReconnectLater,
		4500: wire.ReconnectBackoff, 4503: wire.ReconnectBackoff,
	}
	for _, c := range wire.CloseCodes() {
		if want[c.Code] != c.Reconnect || c.Code.Info() != c {
			t.Errorf("%+v, want %s", c, want[c.Code])
		}
		delete(want, c.Code)
	}
	if len(want) > 0 {
		t.Errorf("close codes: got all but %v, want these too", want)
	}
	if got := wire.CloseCode(1006).Info(); got.Reconnect != wire.ReconnectBackoff {
		t.Errorf("a lost connection: got %+v, want %v", got, wire.ReconnectBackoff)
	}
}
