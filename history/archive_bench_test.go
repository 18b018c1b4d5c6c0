package history_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// The cost of adding a row to a large archive, and the size of the writes.
func BenchmarkArchiveAdd(b *testing.B) {
	for _, rows := range []int{100, 10_000} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			a, _ := history.NewArchive("monitor-0", nil)
			id := wire.RowID(0)
			add := func() (size int) {
				id++
				for _, op := range append(a.Add(textRow(id, "some words that an agent says in a row")), a.SaveOp()) {
					for _, v := range op.Values {
						size += len(v)
					}
				}
				return size
			}
			for range rows {
				add()
			}
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				size += add()
			}
			b.ReportMetric(float64(size)/float64(b.N), "written-B/op")
		})
	}
}
