package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// Connect to a session, show something in it and see it come back. If the
// connection breaks at any moment, the program notices nothing of it but the
// time it takes: the client resumes and sends again what was not answered.
func Example() {
	hub, session, stop := exampleHub()
	defer stop()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.New(client.Config{
		URL: hub, Session: session,
		OnEvent: func(_ context.Context, e client.Event) {
			if a, ok := e.Data.(wire.Actions); ok {
				fmt.Printf("saw %T\n", a.Actions[0])
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	answer, err := c.Send(ctx, wire.Emit{Actions: []wire.Action{
		wire.ToastShow{Toast: wire.Toast{ID: "hello", Message: "Hello"}},
	}})
	fmt.Printf("answered by %T: %v\n", answer.Data, err)
	fmt.Println("toasts:", len(c.State().Toasts))
	cancel()
	fmt.Println("ended:", <-done)
	// Output:
	// saw wire.ToastShow
	// answered by wire.Emitted: <nil>
	// toasts: 1
	// ended: context canceled
}

// exampleHub is a hub with one session.
func exampleHub() (url string, id wire.SessionID, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	h, err := openHub(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	id, err = h.newSession(context.Background())
	if err != nil {
		panic(err)
	}
	return "http://" + h.addr, id, func() {
		h.stop()
		_ = os.RemoveAll(dir)
	}
}
