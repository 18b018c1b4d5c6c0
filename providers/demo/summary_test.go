package demo_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.turn("m-1", "<open_windows>a</open_windows>\nbuy milk\nand bread")
		d.turn("m-2", "/say hello")
		got := d.says("m-3", "The conversation above becomes too long and is about to be replaced by a summary that you write now.\n/say x")
		if want := "The demo sums up 4 messages. The user said:\n- buy milk\n- /say hello"; got != want {
			t.Errorf("output is %q, want %q", got, want)
		}
	})
}

func TestFillingMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.turn("m-1", "/fill 5000")
		d.turn("m-2", "/say hi")
		d.turn("m-3", "/usage 123 45")
		told := d.heard(providers.EventUsage)
		if in := told[1].Usage.Input; in < 5000 || in > 5100 {
			t.Errorf("with 5,000 tokens more it reads %d, want 5000 to 5100", in)
		}
		if u := told[2].Usage; u.Input != 123 || u.Output != 45 {
			t.Errorf("usage is %+v, want 123 and 45", u)
		}
		if n := strings.Count(d.entries[1].Blocks[0].Text, "ful "); n != 5000 {
			t.Errorf("it remembers %d fillings, want 5000", n)
		}
	})
}
