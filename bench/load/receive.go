//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

var (
	pong    = []byte(`{"type":"pong"}`)
	newline = []byte{'\n'}
)

// handleFrame handles one frame.
func (c *clients) handleFrame(s *socket, op opcode, payload []byte) error {
	switch op {
	case opText:
		if !s.batched && !s.isPublisher && !c.target.isCentrifuge {
			return c.handleEnvelope(s, payload)
		}
		for len(payload) > 0 {
			var e []byte
			e, payload, _ = bytes.Cut(payload, newline)
			if err := c.handleEnvelope(s, e); err != nil {
				return err
			}
		}
		return nil
	case opPing:
		return c.send(s, appendClientFrame(nil, opPong, payload))
	case opPong:
		return nil
	case opClose:
		if len(payload) < 2 {
			return fmt.Errorf("%w: closed without a code", errFrame)
		}
		return fmt.Errorf("closed with %d %q", binary.BigEndian.Uint16(payload), payload[2:])
	default:
		return fmt.Errorf("%w: opcode %d", errFrame, op)
	}
}

// handleEnvelope handles one envelope. Nearly all envelopes are events of the run.
func (c *clients) handleEnvelope(s *socket, e []byte) error {
	if c.target.isCentrifuge {
		return c.handleCentrifuge(s, e)
	}
	d, ok := s.session.layout.read(e)
	if !ok {
		return c.handleOther(s, e)
	}
	s.seen.position(d.at)
	if !d.numbered {
		return nil // the publisher's window
	}
	c.countDelivery(s, d, uint64(len(e)))
	if c.dataBytes == 0 {
		c.dataBytes = len(e) - bytes.Index(e, dataToken) - len(dataToken) - len("}")
	}
	return nil
}

// countDelivery checks and counts an event with its envelope of size bytes.
func (c *clients) countDelivery(s *socket, d delivery, size uint64) {
	s.seen.event(d.seq)
	c.deliveries++
	c.bytes += size
	if c.catchingUp == 0 && d.seq%c.sample == 0 {
		c.delays.add(c.now - time.Duration(number(d.stamp))) //nolint:gosec // our own stamp
	}
}

// handleOther handles an envelope that is not an event of the run.
func (c *clients) handleOther(s *socket, e []byte) error {
	switch typeOf(e) {
	case "session_state":
		return c.onSnapshot(s)
	case "ping":
		c.pings++
		return c.send(s, appendClientFrame(nil, opText, pong))
	case "EMITTED":
		s.session.receipts++
		if s.state == stateCreatingWindow {
			c.markOpen(s)
		}
	case "error", "MESSAGE_REJECTED":
		c.faults.Errors++
		if c.faults.First == "" {
			c.faults.First = fmt.Sprintf("session %s: %.300s", s.session.id, e)
		}
	case "":
		return fmt.Errorf("%w: not an envelope: %.80q", errFrame, e)
	default:
		var guess int
		if at, _ := position(find(e, idToken, &guess)); !at.IsZero() {
			s.seen.position(at)
		}
	}
	return nil
}
