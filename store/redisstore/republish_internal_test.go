package redisstore

import (
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
)

// An entry whose publication failed is published again: followers read the log only if a message
// says so.
func TestFailedPublicationIsRepeated(t *testing.T) {
	t.Parallel()
	client := redistest.Standalone(t).Client(t)
	s, err := Open(t.Context(), client, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sub := client.SSubscribe(t.Context(), "channel")
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	published, failed := redis.NewCmd(t.Context()), redis.NewCmd(t.Context())
	failed.SetErr(io.EOF)
	server, err := s.servers.forKey(t.Context(), "channel")
	if err != nil {
		t.Fatal(err)
	}
	queue := s.Sessions.committer.queue(queueKey{server: server})
	queue.republish(&pipeline{
		toPublish: []*write{
			{keys: []arg{arg("channel")}, entry: arg("published before")},
			{keys: []arg{arg("channel")}, entry: arg("entry")},
		},
		cmds: []redis.Cmder{published, failed},
	})
	got, err := sub.ReceiveTimeout(t.Context(), time.Minute)
	message, ok := got.(*redis.Message)
	if err != nil || !ok || message.Payload != "entry" {
		t.Errorf("got message %v, error %v, want the entry that was not published", got, err)
	}
}
