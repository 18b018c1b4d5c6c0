package settings_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/settings"
)

// A change reaches the watchers of all replicas within a second, with the names of all settings that
// may have changed.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := &memory{}
		here, there := newStore(t, docs), newStore(t, docs)
		ctx, stop := context.WithCancel(t.Context())
		got := make(chan settings.Changed, 10)
		done := make(chan struct{})
		go func() {
			defer close(done)
			there.Watch(ctx, func(c settings.Changed) { got <- c })
		}()
		synctest.Wait()
		for _, step := range []struct {
			of      settings.Subject
			changes []settings.Change
			scope   settings.Scope
			names   []string
		}{
			{settings.Subject{User: "ada"}, []settings.Change{change("bool", "true"), change("int", "7")}, settings.ScopeUser, []string{"bool"}},
			{settings.Subject{User: "ada"}, []settings.Change{change("text", `"a"`)}, settings.ScopeUser, []string{"bool", "text"}},
			{settings.Subject{}, []settings.Change{change("hubOnly", "3")}, settings.ScopeHub, []string{"hubOnly"}},
			{settings.Subject{User: "ada", Session: "ses-1"}, []settings.Change{change("everywhere", "3")}, settings.ScopeSession, []string{"everywhere"}},
		} {
			if _, err := here.Change(t.Context(), step.of, settings.ByAdmin, step.changes); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			select {
			case c := <-got:
				if c.Scope != step.scope || c.User != step.of.User || c.Session != step.of.Session || !slices.Equal(c.Names, step.names) {
					t.Errorf("got %+v, want %s of %+v with %v", c, step.scope, step.of, step.names)
				}
			default:
				t.Errorf("nothing after a second, want %v", step.names)
			}
		}
		if _, err := here.Change(t.Context(), settings.Subject{User: "ada"}, settings.ByUser, []settings.Change{change("int", "7")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if len(got) > 0 {
			t.Errorf("a refused change is published: %+v", <-got)
		}
		stop()
		<-done
	})
}
