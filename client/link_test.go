package client_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// TestEveryCloseCode checks the client's reaction to every close code of the table, so that a new
// code cannot be missed.
func TestEveryCloseCode(t *testing.T) {
	t.Parallel()
	for _, info := range wire.CloseCodes() {
		t.Run(strconv.Itoa(int(info.Code)), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHub{script: []func(*peer){
					func(p *peer) {
						p.greet(snapshot(pos(1, 0)))
						p.close(info.Code, "retry_after=7")
					},
					func(p *peer) {
						p.greet(resume(wire.Position{}))
						p.hold()
					},
				}}
				r := follow(t, h, client.Config{Backoff: func(failed int) time.Duration { return time.Duration(failed) * time.Second }})
				time.Sleep(time.Minute)
				synctest.Wait()
				if info.Reconnect == wire.ReconnectNever || info.Reconnect == wire.ReconnectUser {
					<-r.done
					if e, ok := errors.AsType[*client.Error](r.err); !ok || e.Code != info.Code || e.Reason != "retry_after=7" {
						t.Errorf("Run: got error %v, want code %v with reason retry_after=7", r.err, info.Code)
					}
					return
				}
				want := map[wire.Reconnect]time.Duration{
					wire.ReconnectNow: 0, wire.ReconnectLater: 8 * time.Second, wire.ReconnectBackoff: time.Second,
				}[info.Reconnect]
				if got := h.dials[1].Sub(h.dials[0]); got != want {
					t.Errorf("reconnected after %v, want %v", got, want)
				}
				if r.Link().State != client.LinkConnected || !r.Link().Resumed {
					t.Errorf("link: got %+v, want connected and resumed", r.Link())
				}
			})
		})
	}
}

func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		code wire.CloseCode // of the error that Run returns
		wait time.Duration  // before it reconnects
	}{
		http.StatusBadRequest:          {code: 0},
		http.StatusUnauthorized:        {code: wire.CloseUnauthorized},
		http.StatusForbidden:           {code: wire.CloseForbidden},
		http.StatusNotFound:            {code: wire.CloseNotFound},
		http.StatusGone:                {code: wire.CloseExpired},
		http.StatusTooManyRequests:     {wait: 12 * time.Second},
		http.StatusServiceUnavailable:  {wait: time.Second},
		http.StatusInternalServerError: {wait: time.Second},
		http.StatusBadGateway:          {wait: time.Second},
		http.StatusOK:                  {wait: time.Second},
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHub{script: []func(*peer){
					func(p *peer) {
						p.w.Header().Set("Retry-After", "11")
						p.w.WriteHeader(status)
						p.w.Write([]byte(`{"detail":"because","code":1}`))
					},
					func(p *peer) {
						p.greet(snapshot(pos(1, 0)))
						p.hold()
					},
				}}
				var links []client.Link
				r := follow(t, h, client.Config{Backoff: func(failed int) time.Duration { return time.Duration(failed) * time.Second }})
				time.Sleep(time.Minute)
				synctest.Wait()
				if want.wait == 0 {
					<-r.done
					if e, ok := errors.AsType[*client.Error](r.err); !ok || e.Code != want.code || e.Status != status || e.Reason != "because" {
						t.Errorf("Run: got error %v, want code %v and status %d because", r.err, want.code, status)
					}
					return
				}
				links = r.links
				if got := links[1]; got.State != client.LinkReconnecting || got.Retry != want.wait {
					t.Errorf("link is %+v, want a retry after %v", got, want.wait)
				}
				if r.Link().State != client.LinkConnected {
					t.Errorf("link: got %+v, want connected", r.Link())
				}
			})
		})
	}
}

func TestFullJitter(t *testing.T) {
	t.Parallel()
	for failed, most := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 6: 16 * time.Second,
		7: 30 * time.Second, 8: 30 * time.Second, 1_000_000: 30 * time.Second,
	} {
		low, high := most, time.Duration(0)
		for range 1000 {
			wait := client.FullJitter(failed)
			low, high = min(low, wait), max(high, wait)
		}
		if high > most || high < most*9/10 || low > most/10 {
			t.Errorf("after %d tries from %v to %v, want from 0 to %v", failed, low, high, most)
		}
	}
}

// TestReconnectsForever runs a client that cannot connect for a day.
func TestReconnectsForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) { p.w.WriteHeader(http.StatusServiceUnavailable) }}}
		r := follow(t, h, client.Config{})
		start := time.Now()
		time.Sleep(24 * time.Hour)
		r.stop()
		<-r.done
		r.mu.Lock()
		defer r.mu.Unlock()
		most := 500 * time.Millisecond
		for i, l := range r.links[1 : len(r.links)-1] {
			if l.State != client.LinkReconnecting || l.Retry > most {
				t.Fatalf("try %d: %+v, want a wait up to %v", i, l, most)
			}
			most = min(2*most, 30*time.Second)
		}
		// The mean delay is 15 s.
		if tries := len(r.links); tries < 24*60*60/15*8/10 || tries > 24*60*60/15*12/10 {
			t.Errorf("tries in %v: got %d, want one per 15 s, 20 %% more or less", time.Since(start), tries)
		}
	})
}

func TestAnnouncedReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				p.greet(snapshot(pos(1, 0)))
				p.send(wire.Event{Data: wire.GoElsewhere{AfterMS: 5000}})
				time.Sleep(2 * time.Second)
				p.close(wire.CloseDraining, "")
			},
			func(p *peer) {
				p.greet(resume(wire.Position{}))
				p.hold()
			},
		}}
		r := follow(t, h, client.Config{Backoff: func(int) time.Duration { return time.Hour }})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.dials[1].Sub(h.dials[0]); got != 5*time.Second {
			t.Errorf("reconnected after %v, want 5s", got)
		}
		if r.Link().State != client.LinkConnected {
			t.Errorf("link: got %+v, want connected", r.Link())
		}
	})
}

// TestReconnectNowIsNoLoop checks that a hub that always asks to reconnect now is not flooded.
func TestReconnectNowIsNoLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHub{script: []func(*peer){func(p *peer) {
			p.greet(snapshot(pos(1, 0)))
			p.close(wire.ClosePositionLost, "")
		}}}
		follow(t, h, client.Config{Backoff: func(int) time.Duration { return 10 * time.Second }})
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := len(h.dials); got != 8 {
			t.Errorf("%d connections in 61 s, want 8", got)
		}
	})
}

func TestTokenIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	guarded := func(good string) func(*peer) {
		return func(p *peer) {
			if p.header.Get("Authorization") != "Bearer "+good {
				p.accept()
				p.close(wire.CloseUnauthorized, "who are you?")
				return
			}
			p.greet(snapshot(pos(1, 0)))
			p.hold()
		}
	}
	for name, tt := range map[string]struct {
		token string
		err   error
		ok    bool
		dials int
	}{
		"good":    {token: "new", ok: true, dials: 2},
		"bad too": {token: "worse", dials: 2},
		"none":    {err: errors.New("signed out"), dials: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHub{script: []func(*peer){guarded("new")}}
				r := follow(t, h, client.Config{
					Token:   "old",
					Refresh: func(context.Context) (string, error) { return tt.token, tt.err },
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(h.dials) != tt.dials {
					t.Errorf("%d connections, want %d", len(h.dials), tt.dials)
				}
				if tt.ok {
					if r.Link().State != client.LinkConnected {
						t.Errorf("link: got %+v, want connected", r.Link())
					}
					return
				}
				<-r.done
				if e, ok := errors.AsType[*client.Error](r.err); !ok || e.Code != wire.CloseUnauthorized || !errors.Is(r.err, tt.err) && tt.err != nil {
					t.Errorf("Run: got error %v, want code %v and %v", r.err, wire.CloseUnauthorized, tt.err)
				}
			})
		})
	}
}

// TestTokenIsRenewedInTime answers auth_refresh_required without losing the connection, and uses
// the new token for the next one.
func TestTokenIsRenewedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []wire.Message
		var bearer []string
		h := &fakeHub{script: []func(*peer){
			func(p *peer) {
				p.accept()
				m, _ := p.readMessage()
				said = append(said, m)
				p.send(wire.Event{Data: wire.AuthResult{OK: true, User: "ann"}})
				p.send(wire.Event{Data: wire.SessionState{Mode: wire.StateSnapshot, HeartbeatMS: 1000}})
				p.send(wire.Event{Data: wire.AuthRefreshRequired{GraceMS: 1}})
				m, _ = p.readMessage()
				said = append(said, m)
				p.drop()
			},
			func(p *peer) {
				bearer = append(bearer, p.header.Get("Authorization"))
				p.greet(resume(wire.Position{}))
				p.hold()
			},
		}}
		follow(t, h, client.Config{
			Ticket:  "once",
			Refresh: func(context.Context) (string, error) { return "fresh", nil },
		})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(said) != 2 || said[0].Data != (wire.Auth{Ticket: "once"}) || said[1].Data != (wire.Auth{Token: "fresh"}) {
			t.Errorf("credentials sent: got %+v, want the ticket once, then the token fresh", said)
		}
		if len(bearer) == 0 || bearer[0] != "Bearer fresh" {
			t.Errorf("Authorization of the next connection: got %q, want Bearer fresh first", bearer)
		}
	})
}

func TestNewRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]client.Config{
		"no URL":      {Session: sessionID},
		"not a URL":   {URL: "http://[", Session: sessionID},
		"other URL":   {URL: "ftp://x", Session: sessionID},
		"no host":     {URL: "http:///x", Session: sessionID},
		"no session":  {URL: "http://x"},
		"bad session": {URL: "http://x", Session: "../x"},
		"bad client":  {URL: "http://x", Session: sessionID, ClientID: "a\nb"},
		"bad monitor": {URL: "http://x", Session: sessionID, Monitors: []wire.MonitorID{"a b"}},
	} {
		if _, err := client.New(cfg); err == nil {
			t.Errorf("New with %s: got no error, want one", name)
		}
	}
}
