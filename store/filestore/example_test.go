package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

// A session is created, owned, written to and read; then another owner takes it
// over, and the first owner cannot write any more.
func Example() {
	dir, err := os.MkdirTemp("", "everdesk")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := filestore.Open(dir, filestore.Config{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close() }()

	ctx := context.Background()
	if err := s.Sessions.Create(ctx, store.NewSession{ID: "ses-1", User: "ada"}); err != nil {
		panic(err)
	}
	lease, err := s.Sessions.Claim(ctx, "ses-1", "replica-a", 6*time.Second)
	if err != nil {
		panic(err)
	}
	receipt, err := s.Sessions.Commit(ctx, lease, store.Batch{
		Number: 1,
		Prev:   lease.Top(),
		Events: [][]byte{[]byte(`{"type":"ACTIONS"}`)},
		Ops:    []store.Op{store.Set("windows", "win-1", []byte(`{"title":"Hello"}`))},
	})
	if err != nil {
		panic(err)
	}
	missed, err := s.Sessions.Read(ctx, "ses-1", lease.Top(), 100)
	if err != nil {
		panic(err)
	}
	for _, e := range missed {
		fmt.Printf("event %d: %s\n", e.At.Seq, e.Frame)
	}

	if err := s.Sessions.Release(ctx, lease); err != nil {
		panic(err)
	}
	if _, err := s.Sessions.Claim(ctx, "ses-1", "replica-b", 6*time.Second); err != nil {
		panic(err)
	}
	_, err = s.Sessions.Commit(ctx, lease, store.Batch{Number: 2, Prev: receipt.Top})
	fmt.Println("the first owner:", errors.Is(err, store.ErrFenced))
	// Output:
	// event 1: {"type":"ACTIONS"}
	// the first owner: true
}
