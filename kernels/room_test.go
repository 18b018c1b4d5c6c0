package kernels_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/kernels"
)

// A user who needs room on a full server loses an own idle kernel, also if that of another user is idle for longer.
func TestRoomIsMadeAmongOwnKernelsFirst(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token, PerUser: 2, All: 3})
	began := map[string]string{}
	begin := func(user, name string) {
		t.Helper()
		n := kernels.Notebook{User: user, Session: "ses-" + user, Name: name}
		waitFor(t, func() bool { // a kernel is idle a moment after its start
			k, err := c.Open(t.Context(), n)
			began[name] = k.ID
			return err == nil
		})
		// The server learns that a kernel is idle from an answer of it, and may miss the first ones.
		waitFor(t, func() bool {
			k, err := c.Kernel(t.Context(), began[name])
			if err != nil || k.Connections > 0 {
				return false
			}
			if k.State == "idle" {
				return true
			}
			conn, err := c.Connect(t.Context(), began[name], "test", func(kernels.Message) {})
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Await(t.Context())
			conn.Close()
			return false
		})
	}
	want := func(what string, gone ...string) {
		t.Helper()
		for name, id := range began {
			_, err := c.Kernel(t.Context(), id)
			if is := errors.Is(err, kernels.ErrGone); is != slices.Contains(gone, name) {
				t.Errorf("%s: kernel %s gone: %t (%v), want %t", what, name, is, err, !is)
			}
		}
	}
	begin("other", "theirs")
	begin("u", "first")
	begin("u", "second")
	begin("u", "third") // beyond the budget of the user and of the server
	want("a kernel beyond both budgets", "first")
	begin("new", "last")
	want("a kernel of a user who has none", "first", "theirs")
}
