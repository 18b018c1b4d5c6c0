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

// frame handles one frame.
func (c *crowd) frame(s *socket, op opcode, payload []byte) error {
	switch op {
	case opText:
		if !s.batch && !s.publish {
			return c.envelope(s, payload)
		}
		for len(payload) > 0 {
			var e []byte
			e, payload, _ = bytes.Cut(payload, newline)
			if err := c.envelope(s, e); err != nil {
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

// envelope handles one envelope. Nearly all of them are events of the run.
func (c *crowd) envelope(s *socket, e []byte) error {
	d, ok := s.room.layout.read(e)
	if !ok {
		return c.other(s, e)
	}
	s.seen.position(d.at)
	if !d.numbered {
		return nil // the publisher's window
	}
	s.seen.event(d.seq)
	c.deliveries++
	c.bytes += uint64(len(e))
	if d.seq%c.sample == 0 {
		c.delays.add(c.now - time.Duration(number(d.stamp))) //nolint:gosec // our own stamp
	}
	if c.dataBytes == 0 {
		c.dataBytes = len(e) - bytes.Index(e, dataToken) - len(dataToken) - len("}")
	}
	return nil
}

// other handles what is not an event of the run.
func (c *crowd) other(s *socket, e []byte) error {
	switch typeOf(e) {
	case "session_state":
		return c.greeted(s)
	case "ping":
		c.pings++
		return c.send(s, appendClientFrame(nil, opText, pong))
	case "EMITTED":
		s.room.receipts++
		if s.stage == stageSettingUp {
			c.opened(s)
		}
	case "error", "MESSAGE_REJECTED":
		c.faults.Errors++
		if c.faults.First == "" {
			c.faults.First = fmt.Sprintf("session %s: %.300s", s.room.id, e)
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
