package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// Connect to a session, emit an action and receive its event. If the
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

// A message that was submitted is delivered even if the connection breaks before the
// answer comes; its id makes a second delivery harmless.
func ExampleClient_Submit() {
	hub, session, stop := exampleHub()
	defer stop()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.New(client.Config{URL: hub, Session: session})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	pending, err := c.Submit(ctx, wire.Emit{Actions: []wire.Action{
		wire.WindowCreate{WindowID: "notes", Title: "Notes", Bounds: wire.Bounds{W: 300, H: 200}, Content: wire.TextContent{Data: "Hello"}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = pending.Wait(ctx)
	fmt.Println(err, c.State().Windows[0].Title, pending.ID() != "")
	cancel()
	<-done
	// Output: <nil> Notes true
}

// A configuration that cannot work is refused before any connection is made.
func ExampleNew() {
	_, err := client.New(client.Config{URL: "ftp://example.org", Session: "ses-1"})
	fmt.Println(err)
	// Output: client: want the hub's URL, as in http://127.0.0.1:8080; got "ftp://example.org"
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
