package demo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// closing returns a directive that closes a window; the tests count these calls.
func closing(window string) string {
	return fmt.Sprintf("/call window:close {\"windowId\":%q}", window)
}

// hanging is the number of entries before the first steered message.
const hanging = 4

// steered returns the conversation of a turn m-1 that was steered twice, and how often each
// window was closed in it.
func steered(t *testing.T) ([]providers.Entry, map[string]int) {
	t.Helper()
	d := newDemoSession(t, nil)
	d.start("m-1", strings.Join([]string{"/say one", closing("a"), "/hang", closing("b"), "/sleep 1s", closing("c")}, "\n"))
	synctest.Wait()
	for n, text := range []string{
		strings.Join([]string{closing("d"), "/stream 20 10", closing("e")}, "\n"),
		strings.Join([]string{"/sleep 1s", closing("f"), "/say the end"}, "\n"),
	} {
		if err := d.steer(fmt.Sprint("s-", n+1), text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	if e := <-d.ended; e.Outcome != providers.Completed {
		t.Fatalf("the turn is %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	return d.entries, closed(d)
}

// closed counts the windows that were closed.
func closed(d *demoSession) map[string]int {
	n := map[string]int{}
	for _, id := range d.windows() {
		n[id]++
	}
	return n
}

// results counts the windows whose close call has a result.
func results(entries []providers.Entry) map[string]int {
	window, n := map[string]string{}, map[string]int{}
	for _, e := range entries {
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				window[b.Call] = strings.Split(string(b.Input), `"`)[3]
			case providers.BlockToolResult:
				n[window[b.Call]]++
			}
		}
	}
	return n
}

// goOn continues turn m-1 to its end.
func goOn(t *testing.T, entries []providers.Entry) *demoSession {
	t.Helper()
	d := newDemoSession(t, providers.Corrected(entries, providers.CorrectOptions{Open: true}))
	if err := d.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Continue}); err != nil {
		t.Fatal(err)
	}
	if e := <-d.ended; e.Outcome != providers.Completed {
		t.Fatalf("the turn is %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	return d
}

// Wherever a steered turn is cut off, each of its calls is made once, even if the previous turn
// was abandoned before it made a call.
func TestSteeredTurnsContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entries, want := steered(t)
		before := []providers.Entry{{Role: providers.RoleUser, Turn: "m-0", Blocks: []providers.Block{
			{Kind: providers.BlockText, Text: "/hang", Origin: "m-0"},
			{Kind: providers.BlockText, Text: closing("a") + "\n" + closing("z"), Origin: "s-0"},
		}}}
		for n := hanging + 1; n <= len(entries); n++ {
			cut := entries[:n]
			got := results(cut)
			next := goOn(t, slices.Concat(before, cut))
			for id, more := range closed(next) {
				got[id] += more
			}
			// A message that was not taken before the cut is sent again.
			if !slices.ContainsFunc(cut, func(e providers.Entry) bool { return e.Blocks[0].Origin == "s-2" }) {
				got["f"]++
			}
			if !maps.Equal(got, want) {
				t.Errorf("cut off after %d entries, windows were closed %v, want %v", n, got, want)
			}
		}
	})
}

// A turn recorded by an older version, without origins, repeats no call that has a result.
func TestTurnsOfOlderReleasesContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entries, want := steered(t)
		for _, e := range entries {
			for n := range e.Blocks {
				e.Blocks[n].Origin = ""
			}
		}
		for n := hanging + 1; n <= len(entries); n++ {
			got := results(entries[:n])
			for id, more := range closed(goOn(t, entries[:n])) {
				if got[id] += more; got[id] > want[id] {
					t.Errorf("cut off after %d entries, window %s was closed %d times, want %d", n, id, got[id], want[id])
				}
			}
		}
	})
}

// A turn whose conversation was truncated repeats no call that was left out.
func TestTurnsContinueWithoutMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entries, want := steered(t)
		for from := range 2 { // the first message of a conversation always stays
			for to := hanging; to < len(entries); to++ {
				if slices.ContainsFunc(entries[to].Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolResult }) {
					continue // a call and its result are left out together
				}
				got := results(entries)
				left := slices.Concat(entries[:from], entries[to:])
				for id, more := range closed(goOn(t, left)) {
					if got[id] += more; got[id] > want[id] {
						t.Errorf("without %d to %d of %d entries, window %s was closed %d times, want %d", from, to, len(entries), id, got[id], want[id])
					}
				}
			}
		}
	})
}
