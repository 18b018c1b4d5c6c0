package rooipc_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// fill logs so many rows of the turn that the state holds no earlier ones.
func (w *world) fill() {
	w.t.Helper()
	for range desktop.MaxRows {
		w.row(testAgent, wire.SayReasoning, "hm")
	}
}

// longTurn logs a turn with more rows than a state holds. It calls after with the number of each step.
func (w *world) longTurn(after func(step int)) {
	w.t.Helper()
	w.begin()
	for i, step := range []func(){
		func() { w.say(0, "one ") },
		func() { w.row(testAgent, wire.SayText, "one "); w.say(4, "two ") },
		w.fill,
		func() { w.row(testAgent, wire.SayText, "two "); w.say(8, "three ") },
		func() { w.say(14, "four ") },
		func() { w.row(testAgent, wire.SayText, "three four "); w.end() },
		w.fill,
	} {
		step()
		if w.task != nil {
			w.flush()
		}
		after(i)
	}
}

func TestTextsOfAVeryLongTurnAreSentOnce(t *testing.T) {
	t.Parallel()
	for cut := range 6 {
		for back := cut + 1; back <= 6; back++ {
			t.Run(fmt.Sprintf("cut after step %d, back after %d", cut, back), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.longTurn(func(step int) {
					switch step {
					case cut:
						w.cut()
					case back:
						w.resume()
					}
				})
				wantTexts(t, w, "one ", "two ", "three four ")
			})
		}
	}
	t.Run("never cut", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.longTurn(func(int) {})
		wantTexts(t, w, "one ", "two ", "three four ")
	})
}

// The log does not have what the client missed, so it gets the present rows. They have the ts that it knows.
func TestPresentRowsOfAVeryLongTurnReplaceWhatTheClientHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.longTurn(func(step int) {
		switch step {
		case 3:
			w.cut()
		case 4:
			w.client.Seq = ""
			w.resume()
		}
	})
	wantTexts(t, w, "one ", "two ", "three four ")
}
