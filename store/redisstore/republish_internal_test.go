package redisstore

import (
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
)

// openQueue opens a store on a new server. It returns the queue of its commits and a subscription
// to a channel.
func openQueue(t *testing.T, channel string) (*serverQueue, *redis.PubSub) {
	t.Helper()
	client := redistest.Standalone(t).Client(t)
	s, err := Open(t.Context(), client, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sub := client.SSubscribe(t.Context(), channel)
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, err := s.servers.forKey(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	return s.Sessions.committer.queue(queueKey{server: server}), sub
}

// expectMessage receives the next message of a subscription.
func expectMessage(t *testing.T, sub *redis.PubSub, want string) {
	t.Helper()
	got, err := sub.ReceiveTimeout(t.Context(), time.Minute)
	message, ok := got.(*redis.Message)
	if err != nil || !ok || message.Payload != want {
		t.Errorf("got message %v, error %v, want %q", got, err, want)
	}
}

// An entry whose publication failed is published again: followers read the log only if a message
// says so.
func TestFailedPublicationIsRepeated(t *testing.T) {
	t.Parallel()
	queue, sub := openQueue(t, "channel")
	published, failed := redis.NewCmd(t.Context()), redis.NewCmd(t.Context())
	failed.SetErr(io.EOF)
	queue.republish([]*write{
		{keys: []arg{arg("channel")}, entry: arg("published before")},
		{keys: []arg{arg("channel")}, entry: arg("entry")},
	}, []redis.Cmder{published, failed})
	expectMessage(t, sub, "entry")
}

// The caller of a commit waits until the followers have its entry; that of one without followers
// does not.
func TestCommitsWaitForPublication(t *testing.T) {
	t.Parallel()
	queue, sub := openQueue(t, "channel")
	followed, alone := newWrite(t.Context()), newWrite(t.Context())
	followed.keys, followed.entry, followed.value = []arg{arg("channel")}, arg("entry"), int64(2)
	alone.value = int64(1)
	if got := queue.queueForPublish([]*write{followed, alone}); len(got) != 1 || got[0] != alone {
		t.Errorf("%d writes are done after the commit, want 1, the one without followers", len(got))
	}
	queue.inFlight++
	queue.sendLoop()
	select {
	case <-followed.done:
	default:
		t.Error("the write is not done after its entry was published, want it done")
	}
	expectMessage(t, sub, "entry")
}
