package storetest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func loadChecks() []check {
	return []check{
		{name: "a new session is empty", run: loadNew},
		{name: "loading an unknown session is ErrNotFound", run: loadUnknown},
		{name: "a take-over keeps everything", run: loadTakeOver},
		{name: "readers never see half a batch", run: loadIsAtomic},
		{name: "cold lists are not loaded", run: loadCold},
		{name: "lists are read in pages", run: loadListPages},
		{name: "a list name that cannot exist is ErrInvalid", run: loadListInvalid},
		{name: "list limits follow PageLimit", run: loadListLimits},
		{name: "what is read is the reader's", run: loadIsCopy},
	}
}

func loadNew(r *rig) {
	r.create("s")
	r.same("state before the first claim", dropEmpty(r.load("s")), store.State{})
	l := r.claim("s", "a")
	r.same("state after the first claim", dropEmpty(r.load("s")), store.State{At: l.Top()})
}

func loadUnknown(r *rig) {
	_, err := r.Contents.Load(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Load")
	_, err = r.Contents.ReadList(r.ctx, "s", "l", 0, 10)
	r.is(err, store.ErrNotFound, "ReadList")
}

func loadTakeOver(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(1), Ops: []store.Op{store.Set("t", "f", []byte("v")), store.Push("l", items("a", "b")...)}})
	want := r.load("s")
	r.ok(r.Leases.Release(r.ctx, p.lease))
	l := r.secondHandle().claim("s", "b")
	want.At = l.Top()
	r.same("state", r.load("s"), want)
}

// loadIsAtomic makes every batch write its number to every kind of value, so that two
// values with different numbers reveal a partial batch. Every batch makes each reader read
// several times, from before the commit until after it. Readers that never paused would take
// the processor from the writer: fewer reads would meet a commit, not more.
func loadIsAtomic(r *rig) {
	const batches, readsPerBatch = 100, 4
	p := r.createAndClaim("s", "a")
	var wg sync.WaitGroup
	defer wg.Wait()
	var wake []chan struct{}
	defer func() {
		for _, c := range wake {
			close(c)
		}
	}()
	watch := func(look func(*rig) error) {
		h, woken := r.secondHandle(), make(chan struct{}, 1)
		wake = append(wake, woken)
		wg.Go(func() {
			for range woken {
				for range readsPerBatch {
					if err := look(h); err != nil {
						r.Error(err)
						return
					}
				}
			}
		})
	}
	for range 2 {
		watch(checkAtomicState)
		watch(checkAtomicInfo)
	}
	watch(checkAtomicLog)
	for i := range batches {
		n := strconv.AppendInt(nil, int64(i+1), 10)
		r.sendOn("s", "c"+string(n), string(n))
		for _, c := range wake {
			select {
			case c <- struct{}{}:
			default: // this reader is still reading
			}
		}
		p.commit(store.Batch{
			Events: [][]byte{append([]byte("a"), n...), append([]byte("b"), n...)},
			Ops: []store.Op{
				store.Set("t", "f", n), store.Set("u", "g", n), store.Push("l", n), store.KeepLast("l", 3),
				store.Clear("v"), store.Set("v", string(n), n),
			},
			Consumed: []string{"c" + string(n)},
			Card:     n,
			Working:  new(i%2 == 0),
		})
	}
}

func checkAtomicState(r *rig) error {
	s, err := r.Contents.Load(r.ctx, "s")
	if err != nil || s.At.Seq == 0 {
		return err
	}
	n := strconv.FormatUint(s.At.Seq/2, 10)
	list := s.Lists["l"]
	if s.At.Seq%2 != 0 || string(s.Tables["t"]["f"]) != n || string(s.Tables["u"]["g"]) != n ||
		len(s.Tables["v"]) != 1 || string(s.Tables["v"][n]) != n ||
		len(list) == 0 || len(list) > 3 || string(list[len(list)-1]) != n {
		return fmt.Errorf("state at %v is not of one batch: %q %q", s.At, s.Tables, s.Lists)
	}
	return nil
}

func checkAtomicInfo(r *rig) error {
	i, err := r.Directory.Session(r.ctx, "s")
	if err != nil || i.Top.Seq == 0 {
		return err
	}
	n := i.Top.Seq / 2
	if i.Top.Seq%2 != 0 || string(i.Card) != strconv.FormatUint(n, 10) || i.Working != (n%2 == 1) {
		return fmt.Errorf("info at %v is not of one batch: card %q, working %t", i.Top, i.Card, i.Working)
	}
	return nil
}

func checkAtomicLog(r *rig) error {
	events, err := r.Contents.Read(r.ctx, "s", wire.Position{}, 1000)
	if err != nil {
		return err
	}
	if len(events)%2 != 1 {
		return fmt.Errorf("log of %d events ends within a batch", len(events))
	}
	for i, e := range events[1:] {
		if want := string("ab"[i%2]) + strconv.Itoa(i/2+1); string(e.Frame) != want {
			return fmt.Errorf("event %v is %q, want %q", e.At, e.Frame, want)
		}
	}
	return nil
}

func loadCold(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{
		store.Push(store.ColdPrefix+"l", items("a", "b")...), store.Push(store.ColdPrefix, items("c")...),
		store.Push("cold", items("d")...), store.Push("l:"+store.ColdPrefix, items("e")...),
	}})
	p.commit(store.Batch{Ops: []store.Op{store.Replace(store.ColdPrefix+"l", -1, []byte("x"))}})
	r.same("lists", r.load("s").Lists, lists{"cold": items("d"), "l:" + store.ColdPrefix: items("e")})
	for name, want := range map[string][][]byte{
		store.ColdPrefix + "l": items("a", "x"), store.ColdPrefix: items("c"), "cold": items("d"),
	} {
		page, err := r.Contents.ReadList(r.ctx, "s", name, 0, 10)
		r.ok(err)
		r.same("list "+name, page, store.ListPage{Items: want, Total: len(want)})
	}
	p.commit(store.Batch{Ops: []store.Op{store.KeepFirst(store.ColdPrefix+"l", 1), store.Drop(store.ColdPrefix)}})
	page, err := r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
	r.ok(err)
	r.same("bounded list", page, store.ListPage{Items: items("a"), Total: 1})
	page, err = r.Contents.ReadList(r.ctx, "s", store.ColdPrefix, 0, 10)
	r.ok(err)
	r.same("dropped list", page, store.ListPage{})
}

func loadListPages(r *rig) {
	p := r.createAndClaim("s", "a")
	var all [][]byte
	for i := range 23 {
		all = append(all, fmt.Append(nil, "item ", i))
	}
	for _, name := range []string{"l", store.ColdPrefix + "l"} {
		p.commit(store.Batch{Ops: []store.Op{store.Push(name, all...)}})
		for _, limit := range []int{1, 2, 5, 22, 23, 24} {
			for from := range 26 {
				r.samePage(name, from, limit, from, all)
				r.samePage(name, from-26, limit, max(from-3, 0), all)
			}
			r.samePage(name, math.MaxInt, limit, len(all), all)
			r.samePage(name, math.MinInt, limit, 0, all)
		}
	}
	// Items trimmed at either end do not count.
	p.commit(store.Batch{Ops: []store.Op{store.KeepLast("l", 20), store.KeepFirst("l", 9)}})
	r.samePage("l", -4, 4, 5, all[3:12])
	r.samePage("l", -400, 3, 0, all[3:12])
	for _, from := range []int{0, 5, -1, -5} {
		r.samePage("none", from, 10, 0, nil)
	}
}

// samePage fails unless a page of a list begins at an index and has the items of the whole
// list there.
func (r *rig) samePage(list string, from, limit, start int, all [][]byte) {
	r.Helper()
	page, err := r.Contents.ReadList(r.ctx, "s", list, from, limit)
	r.ok(err)
	start = min(start, len(all))
	if page.Total != len(all) || page.From != start {
		r.Fatalf("page from %d says from %d of %d, want %d of %d", from, page.From, page.Total, start, len(all))
	}
	r.same(fmt.Sprintf("%d items from %d", limit, from), page.Items, all[start:min(start+limit, len(all))])
}

func loadListInvalid(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{store.Push("a", []byte("item"))}})
	for _, name := range []string{"", "a\x00", "a\x00\x00\x00\x00", "a\nb", strings.Repeat("a", 1000)} {
		_, err := r.Contents.ReadList(r.ctx, "s", name, 0, 10)
		r.is(err, store.ErrInvalid, fmt.Sprintf("ReadList of %q", name))
	}
	page, err := r.Contents.ReadList(r.ctx, "s", "a", 0, 10)
	r.ok(err)
	r.same("the list beside", page.Items, [][]byte{[]byte("item")})
}

func loadListLimits(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{store.Push("l", make([][]byte, 1200)...)}})
	for limit, want := range map[int]int{-5: 100, 0: 100, 1000: 1000, 1001: 1000} {
		page, err := r.Contents.ReadList(r.ctx, "s", "l", 0, limit)
		r.ok(err)
		if len(page.Items) != want || page.Total != 1200 {
			r.Errorf("limit %d reads %d of %d items, want %d of 1200", limit, len(page.Items), page.Total, want)
		}
	}
}

// loadIsCopy checks that a caller may reuse the memory it wrote and keep the memory it
// read.
func loadIsCopy(r *rig) {
	p := r.createAndClaim("s", "a")
	frame, value, card := []byte("frame"), []byte("value"), []byte("card")
	p.commit(store.Batch{Events: [][]byte{frame}, Ops: []store.Op{store.Set("t", "f", value), store.Push("l", value)}, Card: card})
	for _, b := range [][]byte{frame, value, card} {
		clear(b)
	}
	s := r.load("s")
	want := store.State{At: p.top, Tables: tables{"t": {"f": []byte("value")}}, Lists: lists{"l": items("value")}}
	r.same("state after the writer reused its bytes", s, want)
	if got := r.read("s")[1].Frame; string(got) != "frame" {
		r.Errorf(`frame is %q after the writer reused its bytes, want "frame"`, got)
	}
	p.commit(store.Batch{Ops: []store.Op{store.Set("t", "f", []byte("later")), store.Set("t", "g", nil), store.Push("l", nil), store.Replace("l", 0, nil)}})
	r.same("state of before after a commit", s, want)
	clear(s.Tables)
	clear(s.Lists)
	if got := r.load("s"); len(got.Tables["t"]) != 2 || len(got.Lists["l"]) != 2 {
		r.Errorf("state after a reader cleared its copy is %v, want 2 fields and 2 items", got)
	}
}

var errEnded = errors.New("iterator ended without an error")
