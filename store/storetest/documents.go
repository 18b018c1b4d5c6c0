package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/everdesk/everdesk/store"
)

func documentChecks() []check {
	small := Options{Limits: store.Limits{DocumentBytes: 100}}
	return []check{
		{name: "what is put is got", run: documentsPutGet},
		{name: "a missing document is ErrNotFound", run: documentsMissing},
		{name: "versions grow by one", run: documentsVersions},
		{name: "a wrong version is a conflict", run: documentsConflict},
		{name: "remove compares the version", run: documentsRemove},
		{name: "concurrent changes are not lost", run: documentsContention},
		{name: "of many creations at once one wins", run: documentsOneCreation},
		{name: "a document with a lifetime ends", run: documentsTTL},
		{name: "a later put changes the lifetime", run: documentsTTLChanges},
		{name: "every page size", run: documentsPages},
		{name: "documents come and go during a walk", run: documentsWalk},
		{name: "collections are separate", run: documentsSeparate},
		{name: "any names and bytes are kept", run: documentsBytes},
		{name: "documents that make no sense are refused", run: documentsInvalid, opts: small},
	}
}

// put stores a document that must be accepted and returns its version.
func (r *rig) put(collection, name, data string, version uint64) uint64 {
	r.Helper()
	v, err := r.Documents.Put(r.ctx, store.Document{Collection: collection, Name: name, Data: []byte(data), Version: version})
	r.ok(err)
	return v
}

// expectDocument fails the check if a document has other content.
func (r *rig) expectDocument(collection, name, data string, version uint64) {
	r.Helper()
	d, err := r.Documents.Get(r.ctx, collection, name)
	r.ok(err)
	if d.Collection != collection || d.Name != name || string(d.Data) != data || d.Version != version {
		r.Fatalf("document is %+v, want %q in version %d", d, data, version)
	}
}

func (r *rig) expectNoDocument(collection, name string) {
	r.Helper()
	_, err := r.Documents.Get(r.ctx, collection, name)
	r.is(err, store.ErrNotFound, "Get of "+collection+"/"+name)
}

func documentsPutGet(r *rig) {
	if v := r.put("c", "n", "data", 0); v != 1 {
		r.Errorf("first version is %d, want 1", v)
	}
	r.secondHandle().expectDocument("c", "n", "data", 1)
	d, err := r.Documents.Get(r.ctx, "c", "n")
	r.ok(err)
	if d.TTL != 0 {
		r.Errorf("document without a lifetime has one of %v, want none", d.TTL)
	}
}

func documentsMissing(r *rig) {
	r.expectNoDocument("c", "n")
	r.put("c", "n", "data", 0)
	r.expectNoDocument("c", "m")
	r.expectNoDocument("d", "n")
}

func documentsVersions(r *rig) {
	for i := range uint64(5) {
		data := fmt.Sprint("data ", i)
		if v := r.put("c", "n", data, i); v != i+1 {
			r.Fatalf("version is %d, want %d", v, i+1)
		}
		r.secondHandle().expectDocument("c", "n", data, i+1)
	}
	r.put("c", "n", "data 4", 5) // the same data counts as a change
	r.expectDocument("c", "n", "data 4", 6)
}

func documentsConflict(r *rig) {
	try := func(version uint64) {
		r.Helper()
		_, err := r.Documents.Put(r.ctx, store.Document{Collection: "c", Name: "n", Data: []byte("bad"), Version: version})
		r.is(err, store.ErrConflict, fmt.Sprintf("Put over version %d", version))
	}
	try(1)
	r.expectNoDocument("c", "n")
	r.put("c", "n", "one", 0)
	r.put("c", "n", "two", 1)
	for _, v := range []uint64{0, 1, 3, 1 << 60} {
		try(v)
	}
	r.expectDocument("c", "n", "two", 2)
}

func documentsRemove(r *rig) {
	r.is(r.Documents.Remove(r.ctx, "c", "n", 1), store.ErrConflict, "Remove of nothing")
	r.put("c", "n", "one", 0)
	r.put("c", "n", "two", 1)
	r.is(r.Documents.Remove(r.ctx, "c", "n", 1), store.ErrConflict, "Remove of an old version")
	r.is(r.Documents.Remove(r.ctx, "c", "n", 3), store.ErrConflict, "Remove of a version to come")
	r.expectDocument("c", "n", "two", 2)
	r.ok(r.secondHandle().Documents.Remove(r.ctx, "c", "n", 2))
	r.expectNoDocument("c", "n")
	r.is(r.Documents.Remove(r.ctx, "c", "n", 2), store.ErrConflict, "second Remove")
	if v := r.put("c", "n", "anew", 0); v != 1 {
		r.Errorf("version after removal is %d, want 1", v)
	}
}

func documentsContention(r *rig) {
	const workers, each = 8, 10
	r.put("c", "n", "0", 0)
	var wg sync.WaitGroup
	for range workers {
		h := r.secondHandle()
		wg.Go(func() {
			for done := 0; done < each; {
				d, err := h.Documents.Get(r.ctx, "c", "n")
				if err != nil {
					r.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(d.Data))
				d.Data = strconv.AppendInt(nil, int64(n+1), 10)
				switch _, err := h.Documents.Put(r.ctx, d); {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
					r.Errorf("Put: error %v, want none or %v", err, store.ErrConflict)
					return
				}
			}
		})
	}
	wg.Wait()
	r.expectDocument("c", "n", strconv.Itoa(workers*each), workers*each+1)
}

func documentsOneCreation(r *rig) {
	const n = 12
	errs := make(chan error, n)
	for i := range n {
		h := r.secondHandle()
		go func() {
			_, err := h.Documents.Put(r.ctx, store.Document{Collection: "c", Name: "n", Data: fmt.Append(nil, i)})
			errs <- err
		}()
	}
	won := 0
	for range n {
		if err := <-errs; err == nil {
			won++
		} else if !errors.Is(err, store.ErrConflict) {
			r.Errorf("Put: error %v, want none or %v", err, store.ErrConflict)
		}
	}
	if won != 1 {
		r.Errorf("%d creations succeeded, want 1", won)
	}
}

func documentsTTL(r *rig) {
	d := store.Document{Collection: "c", Name: "n", Data: []byte("x"), TTL: r.short()}
	_, err := r.Documents.Put(r.ctx, d)
	r.ok(err)
	r.put("c", "stays", "x", 0)
	r.expire()
	r.expectNoDocument("c", "n")
	if got := r.documents("c", 0, nil); len(got) != 1 {
		r.Errorf("collection is %v, want what stays", got)
	}
	r.is(r.Documents.Remove(r.ctx, "c", "n", 1), store.ErrConflict, "Remove of what has ended")
	d.Version = 1
	_, err = r.Documents.Put(r.ctx, d)
	r.is(err, store.ErrConflict, "Put over what has ended")
	if v := r.put("c", "n", "anew", 0); v != 1 {
		r.Errorf("version after the end is %d, want 1", v)
	}
	r.expire()
	r.expectDocument("c", "n", "anew", 1)
}

func documentsTTLChanges(r *rig) {
	long := store.Document{Collection: "c", Name: "n", TTL: r.long()}
	v, err := r.Documents.Put(r.ctx, long)
	r.ok(err)
	d, err := r.Documents.Get(r.ctx, "c", "n")
	r.ok(err)
	if d.TTL <= 0 || d.TTL > r.long() {
		r.Errorf("lifetime is %v, want more than 0 and at most %v", d.TTL, r.long())
	}
	v = r.put("c", "n", "forever", v)
	if d, err = r.Documents.Get(r.ctx, "c", "n"); err != nil || d.TTL != 0 {
		r.Errorf("document is %+v, error %v, want no lifetime", d, err)
	}
	_, err = r.Documents.Put(r.ctx, store.Document{Collection: "c", Name: "n", Version: v, TTL: r.short()})
	r.ok(err)
	r.expire()
	r.expectNoDocument("c", "n")
}

// documents reads all pages of a collection.
func (r *rig) documents(collection string, limit int, between func()) map[string]store.Document {
	r.Helper()
	all, after := map[string]store.Document{}, ""
	for {
		p, err := r.Documents.Documents(r.ctx, collection, after, limit)
		r.ok(err)
		if len(p.Items) > store.PageLimit(limit) {
			r.Fatalf("page has %d documents, limit %d", len(p.Items), limit)
		}
		for _, d := range p.Items {
			if _, ok := all[d.Name]; ok || d.Collection != collection {
				r.Fatalf("document %s of %s came twice or into %s", d.Name, d.Collection, collection)
			}
			all[d.Name] = d
		}
		if after = p.Next; after == "" {
			return all
		}
		if between != nil {
			between()
		}
	}
}

func documentsPages(r *rig) {
	var want []string
	for i := range 17 {
		want = append(want, fmt.Sprintf("n%02d", i))
		r.put("c", want[i], "data of "+want[i], 0)
		r.put("other", want[i], "x", 0)
	}
	r.put("c", "n03", "changed", 1)
	for _, limit := range []int{1, 2, 3, 8, 16, 17, 18, 0, 1000} {
		got := r.documents("c", limit, nil)
		r.same(fmt.Sprintf("documents in pages of %d", limit), slices.Sorted(maps.Keys(got)), want)
		if d := got["n03"]; string(d.Data) != "changed" || d.Version != 2 {
			r.Errorf("listing shows %+v, want n03 changed in version 2", d)
		}
		if d := got["n04"]; string(d.Data) != "data of n04" || d.Version != 1 {
			r.Errorf("listing shows %+v, want n04 unchanged in version 1", d)
		}
	}
	if got := r.documents("none", 0, nil); len(got) != 0 {
		r.Errorf("no collection lists %v, want nothing", got)
	}
}

func documentsWalk(r *rig) {
	for i := range 20 {
		r.put("c", fmt.Sprintf("n%02d-stays", i), "x", 0)
		if i < 10 {
			r.put("c", fmt.Sprintf("n%02d-leaves", i), "x", 0)
		}
	}
	n := 0
	got := r.documents("c", 2, func() {
		if n < 10 {
			r.ok(r.Documents.Remove(r.ctx, "c", fmt.Sprintf("n%02d-leaves", n), 1))
			r.put("c", fmt.Sprintf("n%02d-comes", 19-n), "x", 0)
			r.put("c", fmt.Sprintf("n%02d-stays", n), "changed", 1)
		}
		n++
	})
	for i := range 20 {
		if name := fmt.Sprintf("n%02d-stays", i); got[name].Name != name {
			r.Errorf("walk misses %s, want it there", name)
		}
	}
}

func documentsSeparate(r *rig) {
	r.put("a", "b/c", "1", 0)
	r.put("a/b", "c", "2", 0)
	r.put("a:b", "c", "3", 0)
	r.put("a", "b:c", "4", 0)
	r.expectDocument("a", "b/c", "1", 1)
	r.expectDocument("a/b", "c", "2", 1)
	r.expectDocument("a:b", "c", "3", 1)
	r.expectDocument("a", "b:c", "4", 1)
	r.ok(r.Documents.Remove(r.ctx, "a", "b/c", 1))
	if got := r.documents("a/b", 0, nil); len(got) != 1 {
		r.Errorf("collection a/b is %v, want one document", got)
	}
	if got := r.documents("a", 0, nil); len(got) != 1 {
		r.Errorf("collection a is %v, want one document", got)
	}
}

func documentsBytes(r *rig) {
	for i, n := range trickyNames() {
		data := string([]byte{byte(i), 0, '\n', 0xff})
		if i == 0 {
			data = ""
		}
		r.put("c", n, data, 0)
		r.put(n, "n", data, 0)
		r.expectDocument("c", n, data, 1)
		r.expectDocument(n, "n", data, 1)
		if got := r.documents(n, 1, nil); len(got) != 1 || string(got["n"].Data) != data {
			r.Errorf("collection %q is %v, want the document that was put", n, got)
		}
	}
	got := r.documents("c", 3, nil)
	r.same("names", slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(trickyNames())))
}

func documentsInvalid(r *rig) {
	for what, d := range map[string]store.Document{
		"no collection":     {Name: "n"},
		"no name":           {Collection: "c"},
		"line break":        {Collection: "c", Name: "a\nb"},
		"long name":         {Collection: "c", Name: string(bytes.Repeat([]byte("x"), 257))},
		"negative lifetime": {Collection: "c", Name: "n", TTL: -1},
	} {
		_, err := r.Documents.Put(r.ctx, d)
		r.is(err, store.ErrInvalid, what)
	}
	big := store.Document{Collection: "c", Name: "n", Data: make([]byte, 101)}
	_, err := r.Documents.Put(r.ctx, big)
	r.is(err, store.ErrTooLarge, "101 bytes of 100")
	big.Data = big.Data[:100]
	_, err = r.Documents.Put(r.ctx, big)
	r.ok(err)
	if got := r.documents("c", 0, nil); len(got) != 1 {
		r.Errorf("collection is %v, want what was taken", got)
	}
}
