package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxCompletion bounds the text of [Complete] in bytes.
const maxCompletion = 256 << 10

// Complete sends a text to the model, without tools, and returns its answer. The spec names system prompt, model
// and the conversation before the text; Complete sets the rest. Nothing is stored.
func Complete(ctx context.Context, p Provider, s Spec, prompt string) (string, error) {
	var answer strings.Builder
	ended := make(chan Event, 1) // there is one turn
	s.OnEvent = func(e Event) {
		switch e.Kind {
		case EventText:
			if answer.Len()+len(e.Text) <= maxCompletion {
				answer.WriteString(e.Text)
			}
		case EventTurnEnd, EventExit:
			select {
			case ended <- e:
			default: // the turn has ended before
			}
		}
	}
	session, err := p.Open(ctx, s)
	if err != nil {
		return "", fmt.Errorf("open a conversation with the model: %w", err)
	}
	// Close waits until no event is delivered any more, so that the answer can be read.
	if err := session.Send(ctx, Message{ID: "complete", Text: prompt, Mode: Start}); err != nil {
		_ = session.Close()
		return "", fmt.Errorf("send to the model: %w", err)
	}
	var end Event
	select {
	case end = <-ended:
	case <-ctx.Done():
	}
	_ = session.Close()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("wait for the model: %w", context.Cause(ctx))
	case end.Kind == EventTurnEnd && end.Outcome == Completed:
		return answer.String(), nil
	case end.Err != nil:
		return "", end.Err
	}
	return "", errors.New("the model gave no answer")
}
