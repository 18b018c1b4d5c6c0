package filestore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

// A tail that has shown an entry larger than what it shows at once goes on after
// it.
func TestTailAfterLargeEntry(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Sessions.Create(t.Context(), store.NewSession{ID: "ses-1", User: "ada"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Sessions.Claim(t.Context(), "ses-1", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	top := lease.Top()
	for n := range uint64(3) {
		frame := fmt.Appendf(nil, "%q", strings.Repeat("x", 2<<20))
		receipt, err := s.Sessions.Commit(t.Context(), lease, store.Batch{Number: n + 1, Prev: top, Events: [][]byte{frame}})
		if err != nil {
			t.Fatal(err)
		}
		top = receipt.Top
	}
	seen := lease.Top()
	for news, err := range s.Sessions.Tail(t.Context(), "ses-1", seen) {
		if err != nil {
			t.Fatal(err)
		}
		if len(news.Events) != 1 || news.Events[0].At.Seq != seen.Seq+1 {
			t.Fatalf("after %v the tail shows %d events, want only the next one", seen, len(news.Events))
		}
		if seen = news.Events[0].At; seen == top {
			break
		}
	}
}
