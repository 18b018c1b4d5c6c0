package ws

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/wire"
)

// The opcode mask for the first byte of a WebSocket frame, and the opcode of text.
const (
	opcodeMask = 0x0f
	opcodeText = 0x01
)

// detectMonitorNaming finds out how a desktop client written for YAAR names monitors: older ones
// send monitor-0, newer ones 0. Such clients subscribe to a monitor as soon as the connection is
// open, so the snapshot, which names monitors, waits for that frame. A client that sends nothing in
// time gets the older names. The frame is kept for [conn.readMessages]. detectMonitorNaming reports
// false when the connection is ending.
func (c *conn) detectMonitorNaming(ctx context.Context, r *connectRequest) bool {
	if len(r.monitors) > 0 {
		c.peer.numbered = r.numbered
		return true
	}
	r.releaseGate() // other clients may connect while this one sends
	r.releaseGate = func() {}
	c.peer.limitRead(time.Now().Add(c.s.cfg.Timeouts.Naming))
	first, err := c.peer.peekByte()
	switch {
	case httpio.IsTimeout(err):
		err = nil
	case err == nil && first&opcodeMask == opcodeText: // [conn.readMessages] handles other frames
		c.peer.limitRead(time.Now().Add(c.s.cfg.Timeouts.Auth))
		err = c.readFrame(c.s.cfg.FrameBytes, func(frame []byte) {
			c.postponed = pendingWork{frame: bytes.Clone(frame)}
			m, bad := c.peer.decode(frame)
			c.peer.numbered = bad == nil && wire.IsMonitorNumber(wire.MonitorOf(m.Data))
		})
		if errors.Is(err, errFrameTooBig) {
			c.peer.refuse(ctx, &refusal{code: wire.CodeMessageTooLarge})
		}
		if refused, ok := errors.AsType[*refusedFrameError](err); ok { // it is reported when there is a session
			c.refused, err = refused, nil
		}
	}
	c.peer.limitRead(time.Time{})
	if err != nil || c.closing() {
		return false
	}
	release, err := c.s.admission.gate.acquire(ctx)
	if err != nil {
		c.peer.refuse(ctx, c.s.admission.refusalOf(ctx, err))
		return false
	}
	r.releaseGate = release
	return true
}
