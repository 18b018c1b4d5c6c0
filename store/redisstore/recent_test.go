package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// recentIDs lists all sessions of a user, or of all, by last change.
func recentIDs(t *testing.T, s *redisstore.Store, user string) (ids []wire.SessionID) {
	t.Helper()
	for q := (store.Query{User: user, Recent: true, Limit: 7}); ; {
		page, err := s.Sessions.Sessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		if q.After = page.Next; q.After == "" {
			return ids
		}
	}
}

// TestSessionsOfAnEarlierVersionAreListed removes what an earlier version does not write: the lists
// by last change, in part or as a whole. Listings complete them.
func TestSessionsOfAnEarlierVersionAreListed(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	prefix := d.prefix()
	s := open(t, d.client, config(prefix))
	var want []wire.SessionID
	for i := range 40 {
		id := wire.SessionID(fmt.Sprintf("s-%02d", i))
		if err := s.Sessions.Create(t.Context(), store.NewSession{ID: id, User: "user"}); err != nil {
			t.Fatal(err)
		}
		// As if they had changed one second after the other.
		at := time.Now().Add(time.Duration(i-100) * time.Second).UnixMilli()
		if err := d.client.HSet(t.Context(), redisstore.KeysOf(prefix, id).Meta, "updated", at).Err(); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	slices.Reverse(want)
	// "no lists" comes first: the others expect lists that match the changed times.
	for _, c := range []struct {
		name    string
		prepare func(keys map[string]string, id wire.SessionID, i int) error
	}{
		{"no lists", func(keys map[string]string, _ wire.SessionID, _ int) error {
			return d.client.Del(t.Context(), keys["recent"], keys["recent of a user"]).Err()
		}},
		{"lists in part, after a listing that ended", func(keys map[string]string, id wire.SessionID, i int) error {
			if i%3 == 0 {
				return nil
			}
			return d.client.ZRem(t.Context(), keys[[]string{"recent", "recent of a user"}[i%2]], string(id)).Err()
		}},
		{"deleted sessions in the lists", func(keys map[string]string, id wire.SessionID, _ int) error {
			for _, key := range []string{"recent", "recent of a user"} {
				if err := d.client.ZAdd(t.Context(), keys[key], redis.Z{Score: 1, Member: "gone-" + string(id)}).Err(); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		for i, id := range want {
			if err := c.prepare(redisstore.SharedKeys(prefix, id, "user"), id, i); err != nil {
				t.Fatal(err)
			}
		}
		for _, user := range []string{"", "user", ""} {
			if got := recentIDs(t, s, user); !slices.Equal(got, want) {
				t.Errorf("%s: sessions of user %q are\n%v, want\n%v", c.name, user, got, want)
			}
		}
	}
	// An earlier version changes a session without moving it; the first listing notices.
	moved := want[20]
	if err := d.client.HSet(t.Context(), redisstore.KeysOf(prefix, moved).Meta, "updated", time.Now().UnixMilli()).Err(); err != nil {
		t.Fatal(err)
	}
	_ = recentIDs(t, s, "user")
	if got := recentIDs(t, s, "user"); got[0] != moved {
		t.Errorf("newest session is %s, want %s", got[0], moved)
	}
}
