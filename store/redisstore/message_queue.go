package redisstore

import "sync"

// The bounds of the messages that are buffered for a slow consumer. Beyond them the buffer is
// dropped and the consumer continues with what Redis has stored.
const (
	queuedMessages = 64
	queuedBytes    = 1 << 20
)

// messageQueue is a listener that buffers the messages of a channel for one consumer. Messages
// only save reading what Redis has stored: mustRead says when that is necessary.
type messageQueue struct {
	wake wakeup

	mu       sync.Mutex // guards the fields below
	mustRead bool       // Redis may have stored more than the messages contain
	messages []string
	bytes    int
}

// newMessageQueue returns a queue whose consumer must read first.
func newMessageQueue() messageQueue { return messageQueue{wake: make(wakeup, 1), mustRead: true} }

// onMessage buffers a message for the consumer.
func (q *messageQueue) onMessage(message string) {
	q.mu.Lock()
	if len(q.messages) >= queuedMessages || q.bytes+len(message) > queuedBytes {
		q.messages, q.bytes, q.mustRead = nil, 0, true
	}
	// If the consumer must read anyway, messages are not needed.
	if !q.mustRead {
		q.messages = append(q.messages, message)
		q.bytes += len(message)
	}
	q.mu.Unlock()
	q.wake.signal()
}

// onConnect makes the consumer read.
func (q *messageQueue) onConnect() {
	q.mu.Lock()
	q.mustRead = true
	q.mu.Unlock()
	q.wake.signal()
}

// drain returns and clears the pending work.
func (q *messageQueue) drain() (messages []string, mustRead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	messages, mustRead = q.messages, q.mustRead
	q.messages, q.bytes, q.mustRead = nil, 0, false
	return messages, mustRead
}
