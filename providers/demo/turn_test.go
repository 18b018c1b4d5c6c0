package demo_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
)

func (d *demoSession) start(id, text string) {
	d.Helper()
	if err := d.Send(d.Context(), providers.Message{ID: id, Mode: providers.Start, Text: text}); err != nil {
		d.Fatal(err)
	}
}

func (d *demoSession) steer(id, text string) error {
	return d.Send(d.Context(), providers.Message{ID: id, Mode: providers.Steer, Text: text})
}

func TestSteersAreTakenWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/say first\n/sleep 10s\n/say second")
		time.Sleep(time.Second)
		if err := d.steer("s-1", "open a note"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.mu.Lock()
		at := d.times[len(d.times)-1]
		if e := d.events[len(d.events)-1]; e.Kind != providers.EventTaken || e.Message != "s-1" || at != time.Second {
			t.Errorf("the last is %s of %s at %v, want that s-1 is taken at once", e.Kind, e.Message, at)
		}
		d.mu.Unlock()
		<-d.ended
		if got := d.said("m-1"); got != "first\nsecond\nI opened “Note 1”." {
			t.Errorf("output is %q, want first, second and the note", got)
		}
		if took := time.Since(d.began); took != 10*time.Second {
			t.Errorf("it took %v, want 10s", took)
		}
	})
}

func TestASteerBeforeTheWaitEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/sleep 1s\n/hang\n/say one")
		if err := d.steer("s-1", "/say two"); err != nil {
			t.Fatal(err)
		}
		<-d.ended
		if got := d.said("m-1"); got != "one\ntwo" {
			t.Errorf(`output is %q, want "one\ntwo"`, got)
		}
	})
}

func TestNosteer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/nosteer\n/sleep 5s\n/say done")
		if err := d.steer("s-1", "/say now"); !errors.Is(err, providers.ErrNoSteer) {
			t.Errorf("steer: %v, want %v", err, providers.ErrNoSteer)
		}
		<-d.ended
		if got := d.said("m-1"); got != "done" {
			t.Errorf(`output is %q, want "done"`, got)
		}
		d.start("m-2", "/sleep 5s")
		if err := d.steer("s-2", "/say now"); err != nil {
			t.Errorf("steer of the next turn: %v", err)
		}
		<-d.ended
	})
}

func TestMailIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/hang")
		synctest.Wait()
		refused := 0
		for n := range 1000 {
			err := d.Send(t.Context(), providers.Message{ID: "q", Text: strings.Repeat("x", n), Mode: providers.Queue})
			if errors.Is(err, providers.ErrNoSteer) {
				refused++
			}
		}
		if refused != 900 {
			t.Errorf("%d of 1000 messages were refused, want 900", refused)
		}
		if err := d.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInterruptEndsASleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/say so far\n/sleep 1h\n/say never")
		time.Sleep(time.Second)
		if err := d.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e := <-d.ended; e.Outcome != providers.Interrupted {
			t.Errorf("the turn is %s, want %s", e.Outcome, providers.Interrupted)
		}
		if took := time.Since(d.began); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
		d.has(d.says("m-2", "/recall"), "so far")
	})
}

// A steered turn continues where it was cut off.
func TestContinueAfterASteer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/call window:close {\"windowId\":\"a\"}\n/hang\n/call window:close {\"windowId\":\"b\"}\n/say one")
		synctest.Wait()
		if err := d.steer("s-1", "/call window:close {\"windowId\":\"c\"}\n/sleep 1m\n/say two"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.mu.Lock()
		entries := d.entries
		d.mu.Unlock()
		next := newDemoSession(t, entries)
		if err := next.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Continue}); err != nil {
			t.Fatal(err)
		}
		<-next.ended
		next.uses()
		next.has(next.said("m-1"), "two")
		d.uses(`window_close {"windowId":"a"}`, `window_close {"windowId":"b"}`, `window_close {"windowId":"c"}`)
	})
}

// A turn continues correctly if its first message was joined with the results of the previous
// turn.
func TestContinueBehindResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.says("m-1", "/window note A note | text")
		d.start("m-2", "/say before\n/call window:close {\"windowId\":\"a\"}\n/sleep 1m\n/say after")
		time.Sleep(time.Second)
		d.mu.Lock()
		entries := providers.Corrected(d.entries, providers.CorrectOptions{Open: true})
		d.mu.Unlock()
		next := newDemoSession(t, entries)
		if err := next.Send(t.Context(), providers.Message{ID: "m-2", Mode: providers.Continue}); err != nil {
			t.Fatal(err)
		}
		<-next.ended
		next.has(next.said("m-2"), "after")
	})
}

// A turn may continue while an injected message is being added to the conversation.
func TestContinueAfterAnInjectedMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/say one\n/sleep 1m\n/say two")
		time.Sleep(time.Second)
		d.mu.Lock()
		entries := d.entries
		d.mu.Unlock()
		next := newDemoSession(t, entries)
		for _, m := range []providers.Message{{ID: "i-1", Mode: providers.Inject, Text: "a note"}, {ID: "m-1", Mode: providers.Continue}} {
			if err := next.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		<-next.ended
		next.has(next.said("m-1"), "two")
	})
}

// A turn that refuses steered messages still does after it is continued.
func TestContinueWithoutSteers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", "/nosteer\n/call window:close {\"windowId\":\"a\"}\n/sleep 1m\n/say done")
		time.Sleep(time.Second)
		d.mu.Lock()
		entries := d.entries
		d.mu.Unlock()
		next := newDemoSession(t, entries)
		if err := next.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Continue}); err != nil {
			t.Fatal(err)
		}
		if err := next.steer("s-1", "/say now"); !errors.Is(err, providers.ErrNoSteer) {
			t.Errorf("steer: %v, want %v", err, providers.ErrNoSteer)
		}
		<-next.ended
		if got := next.said("m-1"); !strings.HasSuffix(got, "\ndone") {
			t.Errorf("output is %q, want done at its end", got)
		}
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		pieces := 0
		p := demo.New(demo.Config{Pace: 100 * time.Millisecond})
		s, err := p.Open(t.Context(), providers.Spec{OnEvent: func(e providers.Event) {
			switch e.Kind {
			case providers.EventText:
				pieces++
			case providers.EventTurnEnd:
				close(ended)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.Send(t.Context(), providers.Message{ID: "m", Mode: providers.Start, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		<-ended
		if took := time.Since(began); pieces < 5 || took != time.Duration(pieces-1)*100*time.Millisecond {
			t.Errorf("%d pieces took %v, want at least 5, one every 100ms", pieces, took)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryOfALongConversationIsBounded(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	for range 1500 {
		d.turn("m", "/say x")
	}
	if n := strings.Count(d.says("last", "/recall"), "/say x"); n < 400 || n > 600 {
		t.Errorf("it recalls %d of 1500 turns, want 400 to 600", n)
	}
}

func TestTurnWithoutListener(t *testing.T) {
	t.Parallel()
	if _, err := demo.New(demo.Config{}).Open(t.Context(), providers.Spec{}); err == nil {
		t.Error("a session opens without a listener, want an error")
	}
}
