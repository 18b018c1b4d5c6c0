package session

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store"
)

// describeOps returns ops as text, with the parts of a push joined.
func describeOps(ops []store.Op) []string {
	var out []string
	var list string
	for _, op := range ops {
		var text strings.Builder
		fmt.Fprintf(&text, "%d %s %s", op.Kind, op.Name, op.Field)
		for _, v := range op.Values {
			text.WriteByte(' ')
			text.WriteString(strconv.Itoa(len(v)))
			text.Write(v[:1])
		}
		if op.Kind == store.OpPush && list == op.Name {
			out[len(out)-1] += text.String()[len(fmt.Sprintf("%d %s ", op.Kind, op.Name)):]
			continue
		}
		if list = ""; op.Kind == store.OpPush {
			list = op.Name
		}
		out = append(out, text.String())
	}
	return out
}

// A rewrite is complete, in batches that a store accepts.
func TestSplitOps(t *testing.T) {
	t.Parallel()
	texts := map[string][]byte{"a": bytes.Repeat([]byte("a"), 3<<20), "b": bytes.Repeat([]byte("b"), 3<<20)}
	rapid.Check(t, func(t *rapid.T) {
		var ops []store.Op
		value := func() []byte {
			size := rapid.SampledFrom([]int{1, 2, 300, 1 << 20, 3 << 20}).Draw(t, "size")
			return texts[rapid.SampledFrom([]string{"a", "b"}).Draw(t, "of")][:size:size]
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "ops") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				ops = append(ops, store.Set("t", strconv.Itoa(i), value()))
			case 1:
				values := slices.Repeat([][]byte{value()}, rapid.SampledFrom([]int{1, 3}).Draw(t, "values"))
				ops = append(ops, store.Drop(strconv.Itoa(i)), store.Push(strconv.Itoa(i), values...))
			case 2:
				values := slices.Repeat([][]byte{[]byte("x")}, rapid.SampledFrom([]int{1, 2000, 2999, 3000, 9000}).Draw(t, "many"))
				ops = append(ops, store.Drop(strconv.Itoa(i)), store.Push(strconv.Itoa(i), values...))
			}
		}
		var again []store.Op
		limits := store.Limits{}.WithDefaults()
		for i, batch := range splitOps(ops) {
			again = append(again, batch...)
			items, size := 0, 0
			for _, op := range batch {
				n, bytes := opSize(op)
				items, size = items+n, size+bytes
			}
			if len(batch) == 0 || items > limits.BatchItems || size > limits.BatchBytes {
				t.Fatalf("batch %d has %d ops, %d items and %d bytes, want at least one op and at most %d items and %d bytes", i, len(batch), items, size, limits.BatchItems, limits.BatchBytes)
			}
			if batch[len(batch)-1].Kind == store.OpDrop {
				t.Fatalf("batch %d ends with the drop of a list, want the items of the list behind it", i)
			}
		}
		if got, want := describeOps(again), describeOps(ops); !slices.Equal(got, want) {
			t.Fatalf("the batches have the ops\n%.300v\nwant\n%.300v", got, want)
		}
	})
}
