package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// BenchmarkBeginSave measures what a message waits for when a checkpoint is saved: the step notes the windows. Their
// encoding runs beside the session.
func BenchmarkBeginSave(b *testing.B) {
	for _, windows := range []int{0, 30, 100} {
		for _, mebibytes := range []int{0, 1, 4, 16} {
			if windows == 0 && mebibytes > 0 {
				continue
			}
			b.Run(fmt.Sprintf("windows=%d/MiB=%d", windows, mebibytes), func(b *testing.B) {
				s := desktop.New("ses-1")
				for i := range windows {
					content := wire.TextContent{Data: strings.Repeat("x", mebibytes<<20/windows)}
					s.Apply(wire.Event{
						Session: "ses-1", At: wire.Position{Epoch: 1, Seq: uint64(i + 1)}, Time: time.UnixMilli(0),
						Data: wire.Actions{MonitorID: firstMonitor, Actions: []wire.Action{
							wire.WindowCreate{WindowID: wire.WindowID(fmt.Sprint("w", i)), Content: content},
						}},
					})
				}
				b.ReportAllocs()
				for b.Loop() {
					if got := windowsOf(s); len(got.Windows) != windows {
						b.Fatalf("windows: got %d, want %d", len(got.Windows), windows)
					}
				}
			})
		}
	}
}
