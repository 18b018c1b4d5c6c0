package demo_test

import (
	"context"
	"fmt"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
)

// One turn of the demo backend: events arrive in order until the turn ends.
func Example() {
	p := demo.New(demo.Config{})
	defer func() { _ = p.Close() }()
	ended := make(chan struct{})
	ctx := context.Background()
	s, err := p.Open(ctx, providers.Spec{OnEvent: func(e providers.Event) {
		switch e.Kind {
		case providers.EventText:
			fmt.Print(e.Text)
		case providers.EventTurnEnd:
			fmt.Println("\nturn:", e.Outcome)
			close(ended)
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Send(ctx, providers.Message{ID: "m-1", Text: "/say Hello", Mode: providers.Start}); err != nil {
		fmt.Println(err)
		return
	}
	<-ended
	// Output:
	// Hello
	// turn: completed
}
