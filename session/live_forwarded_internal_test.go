package session

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// forwardedItem is a command with a message id.
func forwardedItem(id string) *item {
	return &item{cmd: Command{From: Sender{Connection: "c"}, Message: wire.Message{ID: wire.MessageID(id), Data: wire.UserMessage{Content: "x"}}}}
}

func TestForwardedIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f forwarded
		for i := range 2 * forwardedCommands {
			f.add(forwardedItem(strconv.Itoa(i)), store.Command{ID: strconv.Itoa(i)})
		}
		all := f.all()
		if len(all) != forwardedCommands || all[0].command.ID != strconv.Itoa(forwardedCommands) {
			t.Errorf("%d commands from %s on are held, want the newest %d", len(all), all[0].command.ID, forwardedCommands)
		}
		for i := range 10 {
			f.add(forwardedItem(fmt.Sprint("large", i)), store.Command{Data: make([]byte, forwardedBytes/3)})
		}
		if f.bytes > forwardedBytes || int(f.waiting.Load()) != len(f.commands) {
			t.Errorf("%d bytes are held, want at most %d; %d commands are counted, want %d", f.bytes, forwardedBytes, f.waiting.Load(), len(f.commands))
		}
	})
}

// A command is sent again after growing pauses, until it is answered or given up. Its timer ends
// with it.
func TestForwardedIsSentAgainUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, answerAfter := range map[string]time.Duration{"answered": 20 * time.Second, "given up": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var f forwarded
				var mu sync.Mutex // guards the following
				began := time.Now()
				var sent []time.Duration
				var wakes int
				var wake func()
				wake = func() {
					mu.Lock()
					defer mu.Unlock()
					wakes++
					if time.Since(began) >= answerAfter {
						f.removeAnswered([]broadcast.Event{{Data: wire.MessageAccepted{MessageID: "m", By: "c"}}})
					}
					for _, c := range f.due(time.Now(), wake) {
						sent = append(sent, time.Since(began))
						f.sentAgain(c)
					}
				}
				f.add(forwardedItem("before"), store.Command{ID: "b"})
				f.sent([]*item{forwardedItem("before")}, wake)
				f.removeAnswered([]broadcast.Event{{Data: wire.MessageAccepted{MessageID: "before", By: "c"}}})
				time.Sleep(time.Minute)
				mu.Lock()
				began = time.Now()
				mu.Unlock()
				f.add(forwardedItem("m"), store.Command{ID: "d"})
				time.Sleep(time.Minute) // the call of the store takes long
				mu.Lock()
				began = time.Now()
				mu.Unlock()
				f.sent([]*item{forwardedItem("m")}, wake)
				failed := forwardedItem("m") // a repetition that cannot be sent
				failed.sentAs = "e"
				f.add(failed, store.Command{ID: "e"})
				f.remove(failed)
				time.Sleep(time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				want := []time.Duration{5 * time.Second, 15 * time.Second}
				if name == "given up" {
					want = append(want, 35*time.Second, 75*time.Second, 135*time.Second)
				}
				if fmt.Sprint(sent) != fmt.Sprint(want) {
					t.Errorf("sent again after %v, want %v", sent, want)
				}
				if limit := int(want[len(want)-1]/resendFirst) + 4; wakes > limit {
					t.Errorf("woken %d times, want at most %d", wakes, limit)
				}
				if len(f.commands) != 0 || f.bytes != 0 {
					t.Errorf("%d commands are held at the end, want none", len(f.commands))
				}
			})
		})
	}
}

// Only messages that get an answer are remembered, and only the answer to their own sender counts.
func TestForwardedKnowsAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f forwarded
		f.add(&item{order: &order{}}, store.Command{})
		f.add(&item{cmd: Command{Message: wire.Message{ID: "i", Data: wire.Interrupt{}}}}, store.Command{})
		f.add(forwardedItem(""), store.Command{})
		if n := len(f.commands); n != 0 {
			t.Errorf("%d commands without an answer are held, want none", n)
		}
		f.add(forwardedItem("m"), store.Command{})
		f.removeAnswered([]broadcast.Event{{Data: wire.MessageAccepted{MessageID: "m", By: "other"}}})
		if n := len(f.commands); n != 1 {
			t.Errorf("%d commands are held after the answer to another sender, want 1", n)
		}
		f.removeAnswered([]broadcast.Event{{Data: wire.MessageRejected{MessageID: "m", By: "other", To: "c"}}})
		if n := len(f.commands); n != 0 {
			t.Errorf("%d commands are held after the answer, want none", n)
		}
	})
}
