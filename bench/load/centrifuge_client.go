//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// The client side of Centrifuge's JSON protocol: a connect command that subscribes, publish
// commands, and pushes. Several of them share a frame, one per line.
const (
	connectCommand = 1 // its id
	answerCommand  = 2
	receiptBase    = 2 // ids of publish commands whose reply counts as a receipt are odd from here on
)

var (
	centrifugePing  = []byte("{}")
	pushToken       = []byte(`{"push":`)
	connectedToken  = []byte(`{"id":1,"connect":`)
	replyToken      = []byte(`{"id":`)
	publishedToken  = []byte(`"publish":`)
	offsetToken     = []byte(`"offset":`)
	answeredToken   = []byte(`{"id":2,"rpc":`)
	epochToken      = []byte(`"epoch":"`)
	recoveredToken  = []byte(`"recovered":true`)
	recoveringToken = []byte(`"was_recovering":true`)
)

// centrifugeEncoder encodes publish commands, several per frame.
type centrifugeEncoder struct {
	text    text
	scratch []byte
}

func newCentrifugeEncoder() *centrifugeEncoder {
	return &centrifugeEncoder{text: newText(bodySize - len(actionHead+actionTail+"}"))}
}

// setDataSize does nothing: Centrifuge delivers data as it is.
func (*centrifugeEncoder) setDataSize(int) {}

func (*centrifugeEncoder) setup() []byte { return nil }

func (c *centrifugeEncoder) events(dst []byte, session string, seq uint64, n int, stamp time.Duration, receipt bool) []byte {
	b := c.scratch[:0]
	for i := range n {
		if i > 0 {
			b = append(b, '\n')
		}
		id := receiptBase + 2*seq
		if receipt && i == n-1 {
			id++
		}
		b = fmt.Appendf(b, `{"id":%d,"publish":{"channel":%q,"data":`, id, session)
		b = append(b, actionHead...)
		b = append(b, c.text.format(seq, stamp)...)
		b = append(b, actionTail+`}}}`...)
		seq++
	}
	c.scratch = b
	return appendClientFrame(dst, opText, b)
}

// centrifugeConnect returns the first command of a socket. A tab subscribes to its session, from its
// last position if it was connected before.
func centrifugeConnect(s *socket) []byte {
	subs := ""
	switch {
	case s.isPublisher:
	case s.seen.at.IsZero():
		subs = fmt.Sprintf(`%q:{}`, s.session.id)
	default:
		subs = fmt.Sprintf(`%q:{"recover":true,"epoch":%q,"offset":%d}`, s.session.id, s.session.epoch, s.seen.at.Seq)
	}
	return appendClientFrame(nil, opText, fmt.Appendf(nil, `{"id":%d,"connect":{"subs":{%s}}}`, connectCommand, subs))
}

// handleCentrifuge handles a push or a reply.
func (c *clients) handleCentrifuge(s *socket, e []byte) error {
	switch {
	case bytes.HasPrefix(e, pushToken):
		c.publications(s, e)
	case bytes.Equal(e, centrifugePing):
		c.pings++
		return c.send(s, appendClientFrame(nil, opText, centrifugePing))
	case bytes.HasPrefix(e, connectedToken):
		if bytes.Contains(e, recoveringToken) && !bytes.Contains(e, recoveredToken) {
			return fmt.Errorf("%w: not recovered: %.300s", errFrame, e)
		}
		if _, rest, ok := bytes.Cut(e, epochToken); ok {
			epoch, _, _ := bytes.Cut(rest, []byte{'"'})
			s.session.epoch = string(epoch)
		}
		c.publications(s, e)
		c.markOpen(s)
	case bytes.HasPrefix(e, replyToken) && bytes.Contains(e, publishedToken):
		if id, _ := digits(e[len(replyToken):]); id%2 == 1 {
			s.session.receipts++
		}
	default:
		return fmt.Errorf("%w: unexpected reply: %.300s", errFrame, e)
	}
	return nil
}

// publications handles all events in a push or in the reply to a connect command.
func (c *clients) publications(s *socket, e []byte) {
	size := uint64(len(e))
	for {
		_, text, ok := bytes.Cut(e, textToken)
		if !ok || len(text) < seqDigits+1+stampDigits {
			return
		}
		d := delivery{seq: number(text[:seqDigits]), stamp: text[seqDigits+1:][:stampDigits]}
		_, e, _ = bytes.Cut(text, offsetToken)
		d.at.Epoch = 1
		d.at.Seq, _ = digits(e)
		s.seen.position(d.at)
		c.countDelivery(s, d, size)
		size = 0
	}
}

// connectCentrifuge opens a tab of a Centrifuge node, which ends with ctx.
func (t *textReader) connectCentrifuge(ctx context.Context, node target, session string, running *sync.WaitGroup) error {
	conn, resp, err := websocket.Dial(ctx, "ws://"+node.addrs[0]+centrifugePath, nil)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	_ = resp.Body // the library has replaced it
	write := func(ctx context.Context, command string) error {
		return conn.Write(ctx, websocket.MessageText, []byte(command))
	}
	running.Go(func() {
		defer func() { _ = conn.CloseNow() }()
		for {
			_, frame, err := conn.Read(ctx)
			if err != nil {
				t.end(err)
				return
			}
			for line := range bytes.Lines(frame) {
				if _, token, ok := bytes.Cut(line, []byte(`"pub":{"data":"`)); ok {
					token, _, _ = bytes.Cut(token, []byte{'"'})
					t.addText(string(token))
				} else if bytes.HasPrefix(line, answeredToken) {
					t.end(nil)
				}
			}
		}
	})
	t.start = func(ctx context.Context) error {
		return write(ctx, fmt.Sprintf(`{"id":%d,"rpc":{"method":%q,"data":%q}}`, answerCommand, session, node.model))
	}
	return write(ctx, fmt.Sprintf(`{"id":%d,"connect":{"subs":{%q:{}}}}`, connectCommand, session))
}
