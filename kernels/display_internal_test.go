package kernels

import (
	"encoding/json"
	"strings"
	"testing"
)

// A display that is too large loses its largest forms, but never the beginning of its plain text.
func TestLargeDisplay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sizes map[string]int
		kept  map[string]int
		cut   int
	}{
		"fits":                      {map[string]int{"text/plain": 200_000, "text/html": 60_000}, map[string]int{"text/plain": 200_000, "text/html": 60_000}, 0},
		"text of a page":            {map[string]int{"text/plain": 10, "text/html": 300_000}, map[string]int{"text/plain": 10}, 300_000},
		"long text":                 {map[string]int{"text/plain": 300_000}, map[string]int{"text/plain": maxText}, 300_000 - maxText},
		"text is the largest":       {map[string]int{"text/plain": 100_000, "text/html": 90_000, "text/latex": 89_999}, map[string]int{"text/plain": 100_000, "text/latex": 89_999}, 90_000},
		"cut text is still largest": {map[string]int{"text/plain": 200_000, "text/html": 90_000, "text/latex": 89_999}, map[string]int{"text/plain": maxText, "text/latex": 89_999}, 90_000 + 200_000 - maxText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := map[string]json.RawMessage{}
			for kind, size := range tt.sizes {
				data[kind], _ = json.Marshal(strings.Repeat("x", size)) // strings only
			}
			r := NewRun("1", 0, 0)
			var got map[string]string
			if err := json.Unmarshal(r.dataOf(data, 0), &got); err != nil {
				t.Fatal(err)
			}
			for kind := range tt.sizes {
				if n := strings.Count(got[kind], "x"); kind != "text/plain" && n != tt.kept[kind] {
					t.Errorf("%s: got %d bytes, want %d", kind, n, tt.kept[kind])
				}
			}
			if text := got["text/plain"]; !strings.HasSuffix(text, strings.Repeat("x", tt.kept["text/plain"])) || len(text) > tt.kept["text/plain"]+300 {
				t.Errorf("plain text: got %d bytes, want the %d of the display after short notes", len(text), tt.kept["text/plain"])
			}
			if r.batch.Cut != int64(tt.cut) {
				t.Errorf("cut: got %d bytes, want %d", r.batch.Cut, tt.cut)
			}
		})
	}
}
