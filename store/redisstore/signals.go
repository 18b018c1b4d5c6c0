package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/wire"
)

// Signals sends short-lived texts to the replicas that listen for a session. Redis does not store them, and a replica
// whose connection is interrupted misses some.
type Signals struct {
	*caller
	bus *bus
}

// Signal sends a text to all replicas that listen for the session, this one included. It does not repeat a text that
// may have been sent.
func (s *Signals) Signal(ctx context.Context, session wire.SessionID, text string) error {
	const what = "signal"
	if err := session.Validate(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	channel := s.keys.session(session).signals()
	return s.runOnServer(ctx, what+" session "+string(session), notRetryable, channel, func(ctx context.Context, server *redis.Client) error {
		return server.SPublish(ctx, channel, text).Err()
	})
}

// Listen calls receive with each signal for the session until stop is called; it may be called once more while stop
// runs. receive must not block: it delays the messages of other sessions.
func (s *Signals) Listen(session wire.SessionID, receive func(text string)) (stop func()) {
	k := s.keys.session(session)
	return s.bus.listen(k.partition, k.signals(), signalListener(receive))
}

// signalListener is a [listener] that does not need to know which signals it misses.
type signalListener func(text string)

func (l signalListener) onMessage(text string) { l(text) }

func (l signalListener) onConnect() {}
