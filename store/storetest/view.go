package storetest

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// view is everything that can be read of a session without a lease.
type view struct {
	Missing bool
	Info    store.Info
	State   store.State
	Log     []store.Event
}

// everything reads a view of a session that is not being written.
func (r *rig) everything(id wire.SessionID) view {
	r.Helper()
	i, err := r.Directory.Session(r.ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return view{Missing: true}
	}
	r.ok(err)
	s, err := r.Contents.Load(r.ctx, id)
	r.ok(err)
	v := view{Info: i, State: s}
	if i.Oldest.IsZero() {
		return v
	}
	if v.Log, err = r.Contents.Read(r.ctx, id, wire.Position{}, 1000); errors.Is(err, store.ErrTrimmed) {
		v.Log, err = r.Contents.Read(r.ctx, id, i.Oldest, 1000)
	}
	r.ok(err)
	return v
}

// same fails the check if two values differ. Empty and missing are equal.
func (r *rig) same(what string, got, want any) {
	r.Helper()
	if d := diff(got, want); d != "" {
		r.Fatalf("%s: (-want +got)\n%s", what, d)
	}
}

// diff compares two values. Almost always they are deeply equal, which reflect finds out in
// a fraction of the time that cmp takes. Byte slices are compared as a whole, because cmp
// would compare each byte, and logs have many.
func diff(got, want any) string {
	if reflect.DeepEqual(got, want) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.FilterValues(
		func(a, b []byte) bool { return len(a) > 0 || len(b) > 0 }, cmp.Comparer(bytes.Equal)))
}
