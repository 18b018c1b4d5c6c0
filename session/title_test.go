package session_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const modelTitle = "A title by the model"

// titleHub is the config of a hub whose sessions use the fake model and get titles from it.
func titleHub(t *testing.T, s *fakemodel.Server) hubConfig {
	t.Helper()
	cfg := modelHub(t, s)
	cfg.session.Titles = true
	return cfg
}

// titleRequests counts the requests for a title.
func titleRequests(s *fakemodel.Server) (n int) {
	for _, r := range s.Requests() {
		if strings.Contains(string(r.Body), "Answer with the title") {
			n++
		}
	}
	return n
}

// hang makes the model get a request for a title that it does not answer, and closes the channel.
func hang(s *fakemodel.Server) <-chan struct{} {
	began := make(chan struct{})
	s.Next(nil, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	return began
}

// untitledDesktop creates a session without a title and opens it.
func (o *agentHub) untitledDesktop(t *testing.T) *testDesktop {
	t.Helper()
	_, err := o.Create(t.Context(), session.NewSession{ID: "ses-1", User: "ada"})
	requireNoError(t, err)
	return o.openDesktop(t, "ses-1")
}

// wantTitle fails unless the desktop state and the directory have the title.
func (o *agentHub) wantTitle(t *testing.T, d *testDesktop, want string) {
	t.Helper()
	info, err := o.Info(t.Context(), "ses-1")
	requireNoError(t, err)
	if got := d.snapshot().Title; got != want || info.Title != want {
		t.Errorf("the desktop has the title %q, the directory %q; want %q", got, info.Title, want)
	}
}

// After its first answer a session without a title gets one, which survives a restart and stays.
func TestASessionGetsATitle(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakemodel.New()
			o := startAgentHub(t, open(t), titleHub(t, s))
			d := o.untitledDesktop(t)
			d.send("", wire.SetProvider{Provider: anthropic.Name})
			d.sendText(firstMonitor, "m1", "/say one")
			if e := waitEvent(t, d.eventLog, anyOf[wire.SessionRenamed]); e.Title != modelTitle {
				t.Errorf("the title is %q, want %q", e.Title, modelTitle)
			}
			d.waitIdle()
			o.wantTitle(t, d, modelTitle)
			o = o.restart(t, titleHub(t, s))
			d = o.openDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m2", "/say two")
			d.waitTurnEnd("m2")
			d.waitIdle()
			o.wantTitle(t, d, modelTitle)
			if n := titleRequests(s); n != 1 {
				t.Errorf("the model got %d requests for a title, want 1", n)
			}
		})
	}
}

// A hub dies while a model finds a title. The next owner asks once more, and not a third time.
func TestATitleSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	o := startAgentHub(t, newFileDeployment(t), titleHub(t, s))
	d := o.untitledDesktop(t)
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	began := hang(s)
	d.sendText(firstMonitor, "m1", "/say one")
	<-began
	o = o.restart(t, titleHub(t, s))
	d = o.openDesktop(t, "ses-1")
	waitEvent(t, d.eventLog, anyOf[wire.SessionRenamed])
	o.wantTitle(t, d, modelTitle)
	if n := titleRequests(s); n != 2 {
		t.Errorf("the model got %d requests for a title, want 2", n)
	}
}

// A person who names the session while the model finds a title wins, also over a hub that dies then.
func TestATitleOfAPersonWins(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	o := startAgentHub(t, newFileDeployment(t), titleHub(t, s))
	d := o.untitledDesktop(t)
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	began := hang(s)
	d.sendText(firstMonitor, "m1", "/say one")
	<-began
	requireNoError(t, o.Rename(t.Context(), "ses-1", "Mine"))
	o = o.restart(t, titleHub(t, s))
	d = o.openDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m2", "/say two")
	d.waitTurnEnd("m2")
	d.waitIdle()
	o.wantTitle(t, d, "Mine")
	if n := titleRequests(s); n != 1 {
		t.Errorf("the model got %d requests for a title, want only that of before", n)
	}
}

// A failure is not shown, and the next answer gives the title.
func TestATitleThatFails(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	o := startAgentHub(t, newFileDeployment(t), titleHub(t, s))
	d := o.untitledDesktop(t)
	d.send("", wire.SetProvider{Provider: anthropic.Name})
	refused := make(chan struct{})
	s.Next(nil, func(w http.ResponseWriter, r *http.Request) {
		fakemodel.Status(http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"no"}}`)(w, r)
		close(refused)
	})
	d.sendText(firstMonitor, "m1", "/say one")
	d.waitTurnEnd("m1")
	<-refused // otherwise the next message may get the refusal
	// A later answer tries again: the first one that comes after the end of the failed run.
	for i := 2; i < 100 && d.snapshot().Title == ""; i++ {
		id := wire.MessageID(fmt.Sprintf("m%d", i))
		d.sendText(firstMonitor, id, "/say more")
		d.waitTurnEnd(id)
	}
	waitEvent(t, d.eventLog, anyOf[wire.SessionRenamed])
	o.wantTitle(t, d, modelTitle)
	for _, row := range d.snapshot().RecentMessages {
		if row.Say == wire.SayError || row.Say == wire.SayAPIReqRetryDelayed {
			t.Errorf("there is the row %+v, want none about the title", row)
		}
	}
}
