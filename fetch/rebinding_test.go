package fetch_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers/outbound"
)

// answering returns a resolver that gives the addresses of answers[i] for the lookup i of any name, and the last ones
// from then on.
func answering(answers ...[]string) *net.Resolver {
	var lookups atomic.Int64
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		mine, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }() // the resolver has its answer or is gone
			_ = answerQuery(theirs, func() []string { return answers[min(int(lookups.Add(1)), len(answers))-1] })
		}()
		return mine, nil
	}}
}

// answerQuery answers one query for addresses, in the form of DNS over a stream. It calls next for queries for IPv4
// addresses; there are no others.
func answerQuery(c net.Conn, next func() []string) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	data := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, data); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(data); err != nil {
		return err
	}
	m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		for _, a := range next() {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
			})
		}
	}
	out, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = c.Write(out)
	return err
}

// A name that resolves to an allowed address first and to the machine itself afterwards, or to both at once, reaches the
// allowed address only. The address 127.0.0.2 is listed here and takes the part of a public one, because tests stay on
// loopback.
func TestRebindingIsRefused(t *testing.T) {
	t.Parallel()
	var private atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { private.Add(1) }))
	t.Cleanup(inner.Close)
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	outer := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "public")
	})}}
	outer.Start()
	t.Cleanup(outer.Close)
	page := "http://rebind.example:" + port + "/"
	const public, own = "127.0.0.2", "127.0.0.1"

	ask := func(c *fetch.Client, url string) (string, error) {
		r, err := c.Do(t.Context(), "ann", fetch.Request{URL: url})
		return string(r.Body), err
	}
	refused := func(err error) bool {
		e, ok := errors.AsType[*fetch.AddressError](err)
		return ok && e.Class == outbound.Loopback && e.Domain == "rebind.example"
	}
	client := func(answers ...[]string) *fetch.Client {
		c := resolvingClient(t, public, answering(answers...))
		allowAll(t, c, "ann")
		return c
	}

	c := client([]string{public}, []string{own})
	if body, err := ask(c, page); err != nil || body != "public" {
		t.Errorf("the first request gives %q and %v, want the page of the allowed address", body, err)
	}
	if _, err := ask(c, page); !refused(err) {
		t.Errorf("the second request gives %v, want the loopback address refused", err)
	}
	if _, err := ask(client([]string{public}, []string{own}), page+"again"); !refused(err) {
		t.Errorf("the redirect gives %v, want the loopback address refused", err)
	}
	for _, both := range [][]string{{public, own}, {own, public}} {
		if body, err := ask(client(both), page); err != nil || body != "public" {
			t.Errorf("the addresses %v give %q and %v, want the page of the allowed one", both, body, err)
		}
	}
	outer.Close()
	for _, both := range [][]string{{public, own}, {own, public}} { // the dialer tries the other address
		if body, err := ask(client(both), page); err == nil {
			t.Errorf("the addresses %v give %q while the allowed one is closed, want an error", both, body)
		}
	}
	if n := private.Load(); n != 0 {
		t.Errorf("the private server got %d requests, want none", n)
	}
}
