package storetest

import (
	"bytes"
	"math"
	"strings"

	"github.com/everdesk/everdesk/store"
)

type (
	tables = map[string]map[string][]byte
	lists  = map[string][][]byte
)

// items converts words to list items.
func items(words ...string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

// opCase is a sequence of batches and their result.
type opCase struct {
	name    string
	batches [][]store.Op
	tables  tables
	lists   lists
}

func opChecks() []check {
	var checks []check
	for _, c := range append(tableCases(), listCases()...) {
		checks = append(checks, check{name: c.name, run: func(r *rig) {
			p := r.createAndClaim("s", "a")
			for _, ops := range c.batches {
				p.commit(store.Batch{Ops: ops})
			}
			want := store.State{At: p.top, Tables: c.tables, Lists: c.lists}
			r.same("state", dropEmpty(r.secondHandle().load("s")), want)
			// The same in one batch: each op sees the effect of the previous ones.
			var all []store.Op
			for _, ops := range c.batches {
				all = append(all, ops...)
			}
			p = r.createAndClaim("one-batch", "a")
			want.At = p.commit(store.Batch{Ops: all, Events: p.frames(1)}).Top
			r.same("state after one batch", dropEmpty(r.load("one-batch")), want)
		}})
	}
	return append(checks, check{name: "a table and a list may share a name", run: opSharedName})
}

// dropEmpty removes tables and lists without content: whether Load returns an emptied one
// is undefined.
func dropEmpty(s store.State) store.State {
	for name, t := range s.Tables {
		if len(t) == 0 {
			delete(s.Tables, name)
		}
	}
	for name, l := range s.Lists {
		if len(l) == 0 {
			delete(s.Lists, name)
		}
	}
	return s
}

// trickyNames are valid names that an engine must not interpret as syntax.
func trickyNames() []string {
	return []string{
		":", "{", "}", "{p0}", "a{b}c", "a:b:c", "/", "../x", "a/b", ".", "*", "?", "[a]", "\\", "\"", "'", "%s", "$1",
		" ", " padded ", "ünïcödé", "日本", "🙂", "\u2028", "0", "-1", "nil", "table", "list", "t:f", "log", "meta",
		strings.Repeat("x", 256), "\xff\xfe",
	}
}

func tableCases() []opCase {
	set := func(f, v string) store.Op { return store.Set("t", f, []byte(v)) }
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	names, named := []store.Op{}, tables{"t": {}}
	for _, n := range trickyNames() {
		names = append(names, set(n, n), store.Set(n, "f", []byte(n)))
		if n != "t" {
			named[n] = map[string][]byte{"f": []byte(n)}
		}
		named["t"][n] = []byte(n)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	return []opCase{
		{"set", [][]store.Op{{set("a", "1")}, {set("b", "2")}}, tables{"t": {"a": []byte("1"), "b": []byte("2")}}, nil},
		{"set again", [][]store.Op{{set("a", "1"), set("a", "2")}, {set("a", "3")}}, tables{"t": {"a": []byte("3")}}, nil},
		{"set of nothing", [][]store.Op{{set("a", ""), store.Set("t", "b", nil)}}, tables{"t": {"a": {}, "b": {}}}, nil},
		{"set of every byte", [][]store.Op{{store.Set("t", "a", all)}}, tables{"t": {"a": all}}, nil},
		{"set of a megabyte", [][]store.Op{{store.Set("t", "a", big)}}, tables{"t": {"a": big}}, nil},
		{"unset", [][]store.Op{{set("a", "1"), set("b", "2")}, {store.Unset("t", "a")}}, tables{"t": {"b": []byte("2")}}, nil},
		{"unset of the last field", [][]store.Op{{set("a", "1")}, {store.Unset("t", "a")}}, nil, nil},
		{"unset of what is not there", [][]store.Op{{set("a", "1")}, {store.Unset("t", "x"), store.Unset("x", "a")}}, tables{"t": {"a": []byte("1")}}, nil},
		{"unset, then set", [][]store.Op{{set("a", "1")}, {store.Unset("t", "a"), set("a", "2")}}, tables{"t": {"a": []byte("2")}}, nil},
		{"clear", [][]store.Op{{set("a", "1"), set("b", "2"), store.Set("u", "a", nil)}, {store.Clear("t")}}, tables{"u": {"a": {}}}, nil},
		{"clear of what is not there", [][]store.Op{{store.Clear("t")}}, nil, nil},
		{"clear, then set", [][]store.Op{{set("a", "1")}, {store.Clear("t"), set("b", "2")}}, tables{"t": {"b": []byte("2")}}, nil},
		{"set, then clear", [][]store.Op{{set("a", "1")}, {set("b", "2"), store.Clear("t")}}, nil, nil},
		{"a table with the cold prefix is loaded", [][]store.Op{{store.Set(store.ColdPrefix+"t", "a", nil)}}, tables{store.ColdPrefix + "t": {"a": {}}}, nil},
		{"awkward names of tables and fields", [][]store.Op{names}, named, nil},
	}
}

func listCases() []opCase {
	push := func(words ...string) store.Op { return store.Push("l", items(words...)...) }
	replace := func(i int, v string) store.Op { return store.Replace("l", i, []byte(v)) }
	abc := push("a", "b", "c")
	names, named := []store.Op{}, lists{}
	for _, n := range trickyNames() {
		names = append(names, store.Push(n, []byte(n), []byte("last")), store.Replace(n, -1, []byte("replaced")))
		named[n] = items(n, "replaced")
	}
	return []opCase{
		{"push", [][]store.Op{{push("a")}, {push("b", "c")}, {push("a")}}, nil, lists{"l": items("a", "b", "c", "a")}},
		{"push of nothing", [][]store.Op{{push()}, {store.Push("m", nil, []byte{})}}, nil, lists{"m": items("", "")}},
		{"push of binary", [][]store.Op{{push("\x00\xff\n\r")}}, nil, lists{"l": items("\x00\xff\n\r")}},
		{"replace from the start", [][]store.Op{{abc}, {replace(0, "x"), replace(2, "z")}}, nil, lists{"l": items("x", "b", "z")}},
		{"replace from the end", [][]store.Op{{abc}, {replace(-1, "z"), replace(-3, "x")}}, nil, lists{"l": items("x", "b", "z")}},
		{"replace outside the list", [][]store.Op{{abc}, {replace(3, "x"), replace(-4, "x"), replace(99, "x"), replace(-99, "x")}}, nil, lists{"l": items("a", "b", "c")}},
		{"replace in no list", [][]store.Op{{replace(0, "x"), replace(-1, "x")}}, nil, nil},
		{"replace by nothing", [][]store.Op{{abc}, {replace(1, "")}}, nil, lists{"l": items("a", "", "c")}},
		{"replace of what was pushed just now", [][]store.Op{{abc}, {push("d"), replace(-1, "x")}}, nil, lists{"l": items("a", "b", "c", "x")}},
		{"keep last", [][]store.Op{{abc}, {store.KeepLast("l", 2)}}, nil, lists{"l": items("b", "c")}},
		{"keep last 0", [][]store.Op{{abc}, {store.KeepLast("l", 0)}}, nil, nil},
		{"keep last of all", [][]store.Op{{abc}, {store.KeepLast("l", 3), store.KeepLast("l", 4)}}, nil, lists{"l": items("a", "b", "c")}},
		{"keep more than there can be", [][]store.Op{{abc}, {store.KeepLast("l", math.MaxInt), store.KeepFirst("l", math.MaxInt), replace(math.MaxInt, "x"), replace(math.MinInt, "x")}}, nil, lists{"l": items("a", "b", "c")}},
		{"keep last of no list", [][]store.Op{{store.KeepLast("l", 3)}}, nil, nil},
		{"keep first", [][]store.Op{{abc}, {store.KeepFirst("l", 2)}}, nil, lists{"l": items("a", "b")}},
		{"keep first 0", [][]store.Op{{abc}, {store.KeepFirst("l", 0)}}, nil, nil},
		{"keep first of all", [][]store.Op{{abc}, {store.KeepFirst("l", 3), store.KeepFirst("l", 9)}}, nil, lists{"l": items("a", "b", "c")}},
		{"keep first of no list", [][]store.Op{{store.KeepFirst("l", 0), store.KeepFirst("l", 2)}}, nil, nil},
		{"drop", [][]store.Op{{abc, store.Push("m", []byte("a"))}, {store.Drop("l")}}, nil, lists{"m": items("a")}},
		{"drop of no list", [][]store.Op{{store.Drop("l")}}, nil, nil},
		{"drop, then push", [][]store.Op{{abc}, {store.Drop("l"), push("d")}}, nil, lists{"l": items("d")}},
		{"push and bound", [][]store.Op{{abc}, {push("d", "e"), store.KeepLast("l", 3), push("f"), replace(0, "x")}}, nil, lists{"l": items("x", "d", "e", "f")}},
		{"bound, then push", [][]store.Op{{abc}, {store.KeepFirst("l", 1), push("d"), store.KeepLast("l", 1)}}, nil, lists{"l": items("d")}},
		{"awkward names of lists", [][]store.Op{names}, nil, named},
	}
}

func opSharedName(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{store.Set("x", "f", []byte("v")), store.Push("x", []byte("i"))}})
	r.same("state", r.load("s"), store.State{
		At: p.top, Tables: tables{"x": {"f": []byte("v")}}, Lists: lists{"x": items("i")},
	})
	p.commit(store.Batch{Ops: []store.Op{store.Clear("x")}})
	r.same("after clear", dropEmpty(r.load("s")), store.State{At: p.top, Lists: lists{"x": items("i")}})
	p.commit(store.Batch{Ops: []store.Op{store.Set("x", "f", []byte("v")), store.Drop("x")}})
	r.same("after drop", dropEmpty(r.load("s")), store.State{At: p.top, Tables: tables{"x": {"f": []byte("v")}}})
}
