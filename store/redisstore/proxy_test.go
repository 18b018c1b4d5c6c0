package redisstore_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a client and a server and loses answers when told to.
type proxy struct {
	addr   string
	target string
	lose   atomic.Int32 // how many answers are still to be lost
	lost   atomic.Int32
	wg     sync.WaitGroup
	done   chan struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), target: target, done: make(chan struct{})}
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(p.done)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	server, err := (&net.Dialer{}).Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	var pipes sync.WaitGroup
	ended := make(chan struct{}, 2)
	pipes.Go(func() {
		_, _ = io.Copy(server, client)
		ended <- struct{}{}
	})
	pipes.Go(func() {
		p.answers(client, server)
		ended <- struct{}{}
	})
	select {
	case <-ended:
	case <-p.done:
	}
	_ = client.Close()
	_ = server.Close()
	pipes.Wait()
}

// answers passes answers on until one is to be lost, with which it ends.
func (p *proxy) answers(client io.Writer, server io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.lose.Add(-1) >= 0 {
			p.lost.Add(1)
			return
		}
		p.lose.Store(0)
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
