package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// listSessions returns the sessions that a hub lists.
func listSessions(t *testing.T, h *session.Hub) (ids []wire.SessionID) {
	t.Helper()
	page, err := h.List(t.Context(), store.Query{User: "ada"})
	requireNoError(t, err)
	for _, i := range page.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

// An import is in no listing until it is finished. When its replica dies meanwhile, another one
// deletes it, and not earlier.
func TestUnfinishedImport(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := openStore(t)
			var retired []wire.SessionID
			a, _ := startHub(t, s, "a", session.Config{})
			b, _ := startHub(t, s, "b", session.Config{
				SweepEvery: time.Second, BeforeExpiry: func(id wire.SessionID) {
					retired = append(retired, id)
					if _, err := s.Session(t.Context(), id); err != nil {
						t.Errorf("the session was deleted before its files: %v, want it still there", err)
					}
				},
			})
			_, err := a.Create(t.Context(), session.NewSession{ID: "ses-1", User: "ada", Importing: true})
			requireNoError(t, err)
			if begun {
				i, err := a.BeginImport(t.Context(), "ses-1")
				requireNoError(t, err)
				for range 10 { // it stays while its replica is alive
					time.Sleep(30 * time.Second)
					requireNoError(t, i.Renew(t.Context()))
				}
			}
			if ids := listSessions(t, b); len(ids) != 0 || len(retired) != 0 {
				t.Errorf("during the import %v are listed and %v deleted, want none", ids, retired)
			}
			if i, err := b.Info(t.Context(), "ses-1"); err != nil || !i.Importing {
				t.Errorf("during the import the session is %+v, error %v; want it marked", i, err)
			}
			// Its replica does not renew it any more.
			time.Sleep(2 * time.Minute)
			if ids := listSessions(t, b); len(ids) != 0 || len(retired) != 1 {
				t.Errorf("afterwards %v are listed and %v deleted, want none and one", ids, retired)
			}
			if _, err := b.Info(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionNotFound {
				t.Errorf("the deleted session gives %v, want code %s", err, wire.CodeSessionNotFound)
			}
		})
	}
}
