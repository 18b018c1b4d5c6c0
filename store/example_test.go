package store_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The events of a batch follow the last position of the log without a gap.
func ExampleNextPositions() {
	first, last := store.NextPositions(wire.Position{Epoch: 3, Seq: 9}, 4)
	fmt.Println(first, last)
	// Output: 3-10 3-13
}

// An epoch is the time of the claim in milliseconds, but always greater than the one
// before: a replica whose clock is slow still fences the earlier owner.
func ExampleNextEpoch() {
	now := time.UnixMilli(5000)
	fmt.Println(store.NextEpoch(100, now), store.NextEpoch(7000, now))
	// Output: 5000 7001
}

// A negative index counts from the end of a list.
func ExampleListStart() {
	fmt.Println(store.ListStart(2, 10), store.ListStart(-3, 10), store.ListStart(-30, 10))
	// Output: 2 7 0
}

// A newer program reads the values of an older one; an older program refuses those of
// a newer one.
func ExampleSchema() {
	v1 := store.Schema{Version: 1}
	v3 := store.Schema{Version: 3, Upgrade: func(_ store.Kind, _ string, _ uint8, value []byte) ([]byte, error) {
		return append([]byte("upgraded "), value...), nil
	}}
	value, err := v3.Open(store.KindField, "windows/notes", v1.Seal(nil, []byte("title")))
	fmt.Printf("%s %v\n", value, err)
	_, err = v1.Open(store.KindField, "windows/notes", v3.Seal(nil, []byte("title")))
	fmt.Println(err != nil)
	// Output:
	// upgraded title <nil>
	// true
}

// A replica that claims a session of another one learns which replica has it.
func ExampleOwnedError() {
	err := fmt.Errorf("claim ses-1: %w", &store.OwnedError{By: "replica-b", For: 4 * time.Second})
	if owned, ok := errors.AsType[*store.OwnedError](err); ok {
		fmt.Println(owned.By, owned.For, errors.Is(err, store.ErrOwned))
	}
	// Output: replica-b 4s true
}
